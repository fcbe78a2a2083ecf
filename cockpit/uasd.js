/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page: the list of disks, what the user asks of them, and what stands in the way. */
/* global cockpit */
import { Bus } from "./bus.js";
import { boot_entry, note_uses, read_service, start_service, unmount, used_lately } from "./ctl.js";
import { ask_boot, ask_eject, ask_force, ask_forget, dialog_forget } from "./dialog.js";
import { DiskCard, name_of } from "./disk.js";
import { error_text, is_force_needed, is_not_allowed, not_allowed } from "./errors.js";
import { button, element, focus_key, replace_children, tell } from "./element.js";
import { _, fill, translated } from "./words.js";

const CLOCK_MS = 20000, EJECT_S = 600;

const page = document.getElementById("page");
const list = element("ul", { class: "disks", "aria-label": _("USB disks") });
const notices = element("div", { class: "notices" });
const cards = new Map(); /* by Id */
let service = "";
let administrator = null;

/* ---- requests ---- */

function tell_error(disk, error) {
    tell(error_text(disk, error), "bad");
}

function request(disk, method, args) {
    return bus.call(disk.Id, method, args || [{}]).catch(error => tell_error(disk, error));
}

/* Asks before it forces. */
async function request_or_force(disk, method, word) {
    try {
        await bus.call(disk.Id, method, [word, {}]);
    } catch (error) {
        if (!is_force_needed(error))
            return tell_error(disk, error);
        ask_force(disk, name_of(disk), error_text(disk, error),
                  () => request(disk, method, [word, { force: cockpit.variant("b", true) }]));
    }
}

/* Resolves to the change as text, and whether it can be made. */
function boot_show(disk, policy) {
    return boot_entry(disk.Id, policy, false)
            .then(text => ({ text, possible: true }))
            .catch((error, text) => ({ text: text || boot_failure(error), possible: false }));
}

function boot_failure(error) {
    if (is_not_allowed(error))
        return not_allowed();
    return error.problem ? _("uasctl could not be run.") : _("The file cannot be changed.");
}

function boot_write(disk, policy) {
    boot_entry(disk.Id, policy, true)
            .then(() => tell(_("The change is written. Restart the machine to apply it."), "good"))
            .catch(error => tell(boot_failure(error), "bad"));
}

const acts = {
    request,
    move: (disk, driver) => request_or_force(disk, "Switch", driver),
    policy: (disk, policy) => request_or_force(disk, "SetPolicy", policy),
    forget: disk => ask_forget(disk, name_of(disk), () => request(disk, "Forget")),
    boot: disk => ask_boot(disk, name_of(disk), policy => boot_show(disk, policy), policy => boot_write(disk, policy)),
    eject: async disk => {
        if (await used_lately(disk))
            ask_eject(disk, name_of(disk), () => eject(disk));
        else
            eject(disk);
    },
    unmount: (disk, where) => unmount(where).catch(error => tell(is_not_allowed(error)
        ? not_allowed()
        : fill(_("$0 was not unmounted. A program may have opened a file there: close it, and try again."), where), "bad")),
};

/* The answer may take minutes. */
async function eject(disk) {
    tell(fill(_("Ejecting $0. Do not unplug it yet."), name_of(disk)));
    try {
        await bus.call(disk.Id, "Eject", [{}], { timeout: EJECT_S * 1000 });
        tell(fill(_("$0 can be unplugged."), name_of(disk)), "good");
    } catch (error) {
        tell_error(disk, error);
        bus.refresh(bus.path_of(disk.Id)); /* its users */
    }
}

function job_ended(job) {
    const card = cards.get(job.disk);
    if (card && job.code > 0 && job.code !== 3) /* 3: deferred */
        tell(name_of(card.disk) + ": " + translated(job.text), "bad");
    else if (card && job.code === 0 && job.step)
        tell(name_of(card.disk) + ": " + translated(job.text), "good");
}

/* ---- the page ---- */

function notice(tone, sentence, ...more) {
    return element("div", { class: "notice " + tone }, element("p", {}, sentence), ...more);
}

function notice_of_service() {
    if (bus.state === "lost")
        return notice("bad", _("The system bus does not answer. The page tries again."));
    if (bus.state !== "gone")
        return null;
    switch (service) {
    case "absent":
        return notice("bad", _("uasd is not installed, or its unit is masked."));
    case "off":
        return notice("bad", _("uasd is off: the kernel command line has uasd=off."));
    case "stopped":
        return notice("bad", _("uasd is stopped: it switches no disk."),
                      button("start", _("Start uasd"), () => start_service().catch(error => tell(is_not_allowed(error)
                          ? not_allowed()
                          : _("uasd could not be started. Its journal has the reason."), "bad"))));
    default:
        return null;
    }
}

function notice_of_advice() {
    const slow = [...bus.disks.values()].find(disk => disk.Advice);
    if (!slow)
        return null;
    return notice("warn", fill(_("$0 would be faster with another port or cable."), name_of(slow)),
                  button("advice", _("Show"), () => {
                      const card = cards.get(slow.Id);
                      if (!card.open)
                          card.toggle();
                      card.node.querySelector("button").focus();
                  }, { "aria-label": fill(_("Show $0"), name_of(slow)) }));
}

function render_notices() {
    const all = [notice_of_service(), administrator === false
        ? notice("", _("You can look, but not change anything. Turn on administrative access at the top of the page."))
        : null, notice_of_advice()].filter(one => one);
    const now = all.map(one => one.outerHTML).join("");
    if (now !== notices.dataset.shown) {
        notices.dataset.shown = now;
        replace_children(notices, all);
    }
}

function port_order(a, b) {
    return a.Id.localeCompare(b.Id, "en", { numeric: true });
}

/* While uasd is away, its cards are kept, but hidden: details that were open are open again when it is back. */
function render_disks() {
    const disks = [...bus.disks.values()].sort(port_order);
    for (const [id, card] of cards)
        if (bus.state === "running" && !bus.path_of(id)) {
            card.node.remove();
            cards.delete(id);
        }
    disks.forEach((disk, i) => {
        let card = cards.get(disk.Id);
        if (!card)
            cards.set(disk.Id, card = new DiskCard(acts));
        card.update(disk, bus.job_of(disk.Id));
        if (list.children[i] !== card.node)
            list.insertBefore(card.node, list.children[i] || null);
    });
}

function render() {
    const empty = bus.disks.size === 0;
    if (dialog_forget(id => bus.path_of(id) !== null))
        tell(bus.state === "running" ? _("The disk was unplugged. Nothing was done.") : _("uasd has gone. Nothing was done."), "bad");
    render_notices();
    render_disks();
    page.dataset.state = bus.state === "gone" ? service : bus.state;
    document.getElementById("empty").hidden = !(empty && bus.state === "running");
    document.getElementById("loading").hidden = bus.state !== "loading";
    if (list.hidden !== empty)
        show_list(!empty);
}

let focused = null; /* { card, key } of the control that had the focus when the list was hidden */
function show_list(shown) {
    const had = document.activeElement;
    if (!shown && list.contains(had))
        focused = { card: had.closest(".disk"), key: had.dataset.key };
    list.hidden = document.getElementById("heads").hidden = !shown;
    if (shown && focused && had === document.body)
        focus_key(focused.card, focused.key);
}

/* Several signals come at once: the page is made once for all of them. */
let waiting = false;
function changed() {
    if (waiting)
        return;
    waiting = true;
    setTimeout(() => {
        waiting = false;
        render();
    }, 0);
    if (bus && bus.state === "gone")
        read_service().then(answer => {
            service = answer;
            render();
        });
}

/* ---- theme and rights ---- */

function theme_apply(style) {
    const wanted = style || localStorage.getItem("shell:style") || "auto";
    const dark = wanted === "dark" || (wanted === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/* When the user turns administrative access on or off, cockpit loads the page again. */
function rights_watch() {
    const permission = cockpit.permission({ admin: true });
    const apply = () => {
        administrator = permission.allowed;
        render_notices();
    };
    permission.addEventListener("changed", apply);
    apply();
}

document.documentElement.lang = cockpit.language.replace("_", "-");
document.title = _("USB disks");
window.addEventListener("cockpit-style", event => theme_apply(event.detail.style));
window.addEventListener("storage", event => event.key === "shell:style" && theme_apply());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme_apply());
theme_apply();
page.append(
    element("h1", {}, _("USB disks")),
    notices,
    element("p", { id: "loading" }, _("Reading the disks…")),
    element("p", { id: "empty", hidden: true }, _("No USB disks. Plug one in: it appears here.")),
    element("div", { id: "heads", hidden: true, "aria-hidden": "true" },
            [_("Disk"), _("Link"), _("Driver"), _("State")].map(head => element("span", {}, head))),
    list);
let bus = null;
bus = new Bus(changed, job_ended);
rights_watch();
note_uses();
setInterval(() => {
    render();
    note_uses();
}, CLOCK_MS);
