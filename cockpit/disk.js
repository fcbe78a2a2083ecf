/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The card of one disk: a line, and its details. */
/* global cockpit */
import { button, command_line, element, replace_children } from "./element.js";
import { _, fill, minutes_text, number_text, size_text, speed_text, time_text, translated } from "./words.js";
import { read_bench, read_events, read_plain_mount, read_rows, read_status } from "./ctl.js";

const ROLLED_BACK = 7; /* exit status of uasctl */
const ROWS_BRIEF = 3, CHART_WIDTH = 320, CHART_ROW = 44;
const JOURNAL = "/system/logs/#/?prio=debug&service=uasd.service"; /* of Cockpit, as its page of services links to it */
const DISTRUST = ["distrusted", "trial-failed"];

const POLICIES = {
    auto: () => _("The fastest driver that is known to be stable"),
    uas: () => _("Always uas"),
    "usb-storage": () => _("Always usb-storage"),
    ignore: () => _("uasd leaves the disk alone"),
};

const VERDICTS = { good: () => _("good"), bad: () => _("bad"), unknown: () => _("unknown") };

export function name_of(disk) {
    return [disk.Manufacturer, disk.Product].filter(word => word).join(" ") || disk.Id;
}

function blocks_of(disk) {
    return disk.Disks.map(([name, , size]) => size ? name + " " + size_text(size) : name).join(", ");
}

function sentence_of(disk, name) {
    return translated((disk.Sentences || {})[name] || "");
}

export function is_distrusted(disk) {
    return DISTRUST.includes(disk.ReasonId);
}

function has_driver(disk) {
    return disk.Driver === "uas" || disk.Driver === "usb-storage";
}

/* { word, tone }: the state as people say it. tone: "good", "busy", "bad" or "". */
export function state_of(disk, job) {
    const where = disk.Busy.map(user => user[2] || user[1]);
    if (disk.State === "ignored" && disk.Driver && !has_driver(disk))
        return { word: fill(_("driver $0"), disk.Driver), tone: "" };
    switch (disk.State) {
    case "settled":
        if (is_distrusted(disk))
            return { word: _("distrusted on uas"), tone: "bad" };
        return { word: _("ok"), tone: "good" };
    case "trial":
        return { word: disk.TrialEnds ? fill(_("trial, $0 left"), minutes_text(disk.TrialEnds)) : _("trial"), tone: "good" };
    case "held":
        return { word: _("mounts deferred"), tone: "busy" };
    case "waiting":
        return { word: where.length ? fill(_("waiting for $0"), where[0]) : _("waiting until it is free"), tone: "busy" };
    case "switching":
        return { word: job && job.Step ? fill(_("switching: $0"), job.Step) : _("switching"), tone: "busy" };
    case "failed":
        return { word: disk.Outcome[0] === ROLLED_BACK ? _("rolled back") : _("failed"), tone: "bad" };
    case "unbound":
        return { word: _("no driver"), tone: "bad" };
    case "ignored":
        return disk.Driver ? { word: _("ignored"), tone: "" } : { word: _("no driver"), tone: "bad" };
    case "incapable":
        return { word: _("BOT only"), tone: "" };
    default:
        return { word: disk.State, tone: "" };
    }
}

function row_of(label, ...content) {
    return [element("dt", {}, label), element("dd", {}, ...content)];
}

function smart_text(smart) {
    const temperature = smart.temperature === null ? "" : ", " + smart.temperature + " °C";
    if (smart.passed === null)
        return smart.why_not ? fill(_("not known: $0"), translated(smart.why_not)) : _("not known");
    return (smart.passed ? _("passed") : _("FAILING")) + temperature;
}

function figure_of(result, driver) {
    const of = result.figures.filter(one => one.driver === driver);
    return of.find(one => one.measure === (/random/.test(result.text) ? "iops" : "bytes_per_sec")) || of[0];
}

function figure_text(figure) {
    if (figure.measure === "bytes_per_sec")
        return size_text(figure.median) + "/s";
    return number_text(figure.median, figure.median < 10 ? 1 : 0) + " IOPS";
}

/* Bars of both drivers for each pattern. The longer one is the faster one. */
function chart_of(bench) {
    const shown = [];
    let y = 0;
    for (const result of bench.results) {
        const pair = ["usb-storage", "uas"].map(driver => figure_of(result, driver)).filter(figure => figure);
        if (!pair.length)
            continue;
        const most = Math.max(...pair.map(figure => figure.median)) || 1;
        shown.push(element("text", { x: 0, y: y + 11, class: "pattern" }, result.text));
        pair.forEach((figure, i) => {
            const top = y + 15 + 13 * i;
            shown.push(element("rect", { x: 0, y: top, height: 11, class: figure.driver, width: Math.max(1, CHART_WIDTH * 0.5 * figure.median / most) }),
                       element("text", { x: CHART_WIDTH * 0.52, y: top + 10 }, figure.driver + " " + figure_text(figure)));
        });
        y += CHART_ROW;
    }
    const title = fill(_("Benchmark of $0"), time_text(bench.started_usec));
    return element("svg", { viewBox: `0 0 ${CHART_WIDTH} ${y}`, class: "chart", role: "img", "aria-label": title + ". " + shown.filter(one => one.tagName === "text").map(one => one.textContent).join("; ") },
                   element("title", {}, title), shown);
}

/* reason: a sentence that is shown already. */
function table_of(rows, reason) {
    return element("ul", { class: "rows" }, rows.map(row => element(
        "li", { class: row.decides ? "decides" : "" },
        element("span", { class: "mark" }, row.fits ? _("yes") : _("no")), " ",
        element("span", { title: row.reason_id }, translated(row.found) || row.reason_id),
        row.fits && row.means && !reason.includes(translated(row.means)) ? element("p", {}, translated(row.means)) : null)));
}

/* All that is shown of a disk. The moments are left out: uasd computes them anew, and they differ by microseconds. */
function shown_of(disk) {
    return JSON.stringify(disk, (name, value) => name === "TrialEnds" || name === "WaitingSince" ? undefined : value);
}

export class DiskCard {
    /* acts: the requests of the page, see uasd.js. */
    constructor(acts) {
        this.acts = acts;
        this.open = false;
        this.all_rows = false;
        this.facts = null;
        this.changes = 0; /* of the disk. It may come back to what it was while uasctl answers */
        this.shown = "";
        this.node = element("li", { class: "disk" });
    }

    toggle() {
        this.open = !this.open;
        this.render();
        this.read_for = -1;
        if (this.open)
            this.read();
    }

    /*
     * What uasctl prints, read when the details are opened and once for each change of the disk while they are open. One set of
     * programs runs at a time: on a slow machine changes come faster than their answers.
     */
    async read() {
        if (this.reading)
            return;
        this.reading = true;
        this.node.setAttribute("aria-busy", "true");
        while (this.open && this.read_for !== this.changes) {
            const disk = this.disk;
            this.read_for = this.changes;
            const [status, rows, events, bench, mount] = await Promise.all(
                [read_status(disk.Id), read_rows(disk.Id), read_events(disk.Id), read_bench(disk), read_plain_mount(disk)]);
            this.facts = { status, rows, events, bench, mount };
            this.render();
        }
        this.node.removeAttribute("aria-busy");
        this.reading = false;
    }

    update(disk, job) {
        if (!this.disk || shown_of(disk) !== shown_of(this.disk))
            this.changes++;
        this.disk = disk;
        this.job = job;
        this.render();
        if (this.open)
            this.read();
    }

    /* Makes the card again only if something on it is another. */
    render() {
        const state = state_of(this.disk, this.job);
        const now = JSON.stringify([shown_of(this.disk), this.job, state, this.open, this.all_rows, this.facts]);
        if (now === this.shown)
            return;
        this.shown = now;
        replace_children(this.node, this.line(state), this.open ? this.details(state) : null);
    }

    line(state) {
        const disk = this.disk, name = name_of(disk), details = "details-" + disk.Id;
        const slow = disk.Advice !== "";
        return element(
            "div", { class: "line" },
            element("h2", { class: "name" }, button("open", name, () => this.toggle(), {
                class: "opener", "aria-expanded": String(this.open), "aria-controls": this.open ? details : null,
            }), " ", element("span", { class: "blocks" }, blocks_of(disk) || disk.Id)),
            element("span", { class: "link" + (slow ? " slow" : "") }, speed_text(disk.SpeedMbps), slow ? element("b", { title: _("slow link") }, " !") : null),
            element("span", { class: "driver" }, disk.Driver || _("none")),
            element("span", { class: "state " + state.tone }, state.word));
    }

    details(state) {
        const disk = this.disk, facts = this.facts || {};
        return element(
            "div", { class: "details", id: "details-" + disk.Id, role: "group", "aria-label": fill(_("Details of $0"), name_of(disk)) },
            element("div", { class: "columns" },
                    element("section", {}, element("h3", {}, _("Why")), this.why(facts), this.free(facts)),
                    element("section", {}, element("h3", {}, _("Disk")), this.about(facts), this.events(facts), this.bench(facts))),
            this.policy(),
            this.buttons(state));
    }

    why(facts) {
        const disk = this.disk, rows = facts.rows || [];
        const brief = rows.filter(row => row.applies).slice(0, ROWS_BRIEF);
        const reason = sentence_of(disk, "Reason"), advice = sentence_of(disk, "Advice");
        const [code, step] = disk.Outcome, outcome = code > 0 ? sentence_of(disk, "Outcome") : "";
        return [
            reason !== outcome ? element("p", { class: "reason" }, reason) : null,
            is_distrusted(disk) ? element("p", { class: "bad" }, _("Errors under uas may have damaged files. Check the file systems of this disk.")) : null,
            outcome ? element("p", { class: "bad" }, step ? fill(_("$0 (step $1)"), outcome, step) : outcome) : null,
            outcome ? button("log", _("Show the journal of uasd"), () => cockpit.jump(JOURNAL), { class: "plain" }) : null,
            advice ? element("p", { class: "slow" }, advice) : null,
            rows.length ? table_of(this.all_rows ? rows : brief, reason) : null,
            rows.length > brief.length
                ? button("rows", this.all_rows ? _("Show less") : _("Show all"), () => {
                    this.all_rows = !this.all_rows;
                    this.render();
                }, { class: "plain" })
                : null,
        ];
    }

    /* The users of the disk, and the commands that end their use. */
    free(facts) {
        const disk = this.disk;
        if (!disk.Busy.length)
            return null;
        return [
            element("h3", {}, _("In use")),
            element("ul", { class: "users" }, disk.Busy.map(([kind, device, where, , command, pid]) => element(
                "li", {}, [kind, where, device, command && pid ? command + " (" + pid + ")" : command].filter(word => word).join(" · ")))),
            facts.mount
                ? button("unmount", fill(_("Unmount $0"), facts.mount), () => this.acts.unmount(disk, facts.mount))
                : this.commands(facts)
        ];
    }

    commands(facts) {
        const commands = facts.status ? facts.status.to_free || [] : [];
        if (this.disk.SystemDisk || !commands.length)
            return null;
        return [element("p", {}, _("These commands free it:")), commands.map((command, i) => command_line(command, "free" + i))];
    }

    about(facts) {
        const disk = this.disk, status = facts.status, hex = number => number.toString(16).padStart(4, "0");
        const history = sentence_of(disk, "History"), diagnosis = sentence_of(disk, "Diagnosis");
        return element(
            "dl", {},
            row_of(_("Link"), fill(_("$0 at port $1"), speed_text(disk.SpeedMbps), disk.Id.split(":")[0])),
            status && status.smart.length ? row_of(_("Health"), status.smart.map(one => one.name + ": " + smart_text(one)).join("; ")) : null,
            history ? row_of(_("History"), history) : null,
            diagnosis ? row_of(_("Diagnosis"), diagnosis) : null,
            row_of(_("Bridge"), hex(disk.VendorId) + ":" + hex(disk.ProductId) + ", " + VERDICTS[disk.Verdict]()),
            disk.Serial ? row_of(_("Serial"), disk.Serial) : null,
            row_of("TRIM", disk.Trim === "on" ? _("kept on") : _("not kept on")));
    }

    events(facts) {
        if (!facts.events || !facts.events.length)
            return null;
        return [element("h3", {}, _("Events")), element("ul", { class: "events" }, facts.events.map(one => element(
            "li", {}, one.time_usec ? element("time", {}, time_text(one.time_usec)) : null, " ", translated(one.text || one.event || "").replace(/^\d[\w.-]*:\d+\.\d+[^:]*: /, ""))))];
    }

    bench(facts) {
        if (!this.facts)
            return null;
        return [
            element("h3", {}, _("Benchmark")),
            facts.bench ? chart_of(facts.bench) : element("p", {}, _("No result is stored. To measure both drivers:")),
            facts.bench ? null : command_line("uasctl bench " + this.disk.Id, "bench"),
        ];
    }

    policy() {
        const disk = this.disk;
        if (!disk.Capable)
            return null;
        return element(
            "fieldset", { class: "policy" },
            element("legend", {}, _("Policy, also after a restart")),
            Object.entries(POLICIES).map(([policy, text]) => element(
                "label", {},
                element("input", {
                    type: "radio", name: "policy-" + disk.Id, value: policy, checked: policy === disk.Policy, "data-key": "policy-" + policy,
                    change: () => {
                        this.shown = ""; /* the present policy is shown until uasd reports another */
                        this.render();
                        this.acts.policy(this.disk, policy);
                    },
                }), " ", text())));
    }

    buttons(state) {
        const disk = this.disk, acts = this.acts, made = [];
        const other = disk.Driver === "uas" ? "usb-storage" : "uas";
        if (disk.State === "waiting" || (this.job && this.job.State === "waiting"))
            made.push(button("cancel", _("Cancel the switch"), () => acts.request(disk, "Cancel")));
        else if (disk.State === "held")
            made.push(button("release", _("Mount it now"), () => acts.request(disk, "Release")));
        else if (disk.SystemDisk && disk.Capable)
            made.push(button("boot", _("Change its driver at boot…"), () => acts.boot(disk)));
        else if (disk.Capable && disk.State !== "switching")
            made.push(button("switch", fill(_("Switch to $0"), other), () => acts.move(disk, other)));
        if (disk.ReasonId === "override" && disk.State !== "waiting" && disk.State !== "switching")
            made.push(button("undo", _("Follow the policy again"), () => acts.request(disk, "Switch", ["", {}])));
        if (is_distrusted(disk) || state.tone === "bad" && disk.State === "failed")
            made.push(button("forget", _("Try uas again…"), () => acts.forget(disk)));
        if (!disk.SystemDisk && disk.State !== "switching")
            made.push(button("eject", _("Eject"), () => acts.eject(disk)));
        return element("div", { class: "buttons" }, made);
    }
}
