/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only uasctl knows: the commands that free a disk, its health, its log, its decision, its benchmark. */
/* global cockpit */

const EVENTS = 5;

function run(...words) {
    return cockpit.spawn(["uasctl", "--no-ask-password", ...words], { superuser: "try", err: "message" });
}

/* Returns null if uasctl cannot answer: the rest of the details is shown without it. */
async function ask(...words) {
    try {
        return JSON.parse(await run(...words));
    } catch (error) {
        return null;
    }
}

export async function read_status(id) {
    const answer = await ask("status", id, "--json=parts");
    return answer ? answer.disks[0] : null;
}

export async function read_rows(id) {
    const answer = await ask("explain", id, "--json=parts");
    return answer ? answer.disks[0].rows.filter(row => row.applies) : [];
}

export async function read_events(id) {
    const answer = await ask("log", id, "--lines=" + EVENTS, "--json=parts");
    return answer ? answer.events.reverse() : [];
}

/* The newest stored result of this disk, or null. */
export async function read_bench(disk) {
    const answer = await ask("bench", "list", "--json");
    const own = answer ? answer.benches.filter(one => disk.Serial && one.conditions.serial === disk.Serial) : [];
    return own.reduce((last, one) => !last || one.started_usec > last.started_usec ? one : last, null);
}

/* Shows or makes the change of the file that the machine boots with. Resolves to what uasctl prints. */
export function boot_entry(id, policy, write) {
    const words = ["policy", "--kernel", "--write", ...write ? [] : ["--dry-run"], id, policy];
    return cockpit.spawn(["uasctl", "--no-ask-password", ...words], {
        superuser: "require",
        err: "out",
        environ: ["LANGUAGE=" + cockpit.language],
    });
}

/* Why no program has the name of uasd: "absent", "off" or "stopped". */
export async function read_service() {
    try {
        const shown = await cockpit.spawn(["systemctl", "show", "--property=LoadState", "uasd.service"], { err: "message" });
        if (/^LoadState=(not-found|masked)/.test(shown))
            return "absent";
        const line = await cockpit.file("/proc/cmdline").read();
        return /(^|\s)uasd=off(\s|$)/.test(line) ? "off" : "stopped";
    } catch (error) {
        return "stopped";
    }
}

export function start_service() {
    return cockpit.spawn(["systemctl", "start", "uasd.service"], { superuser: "require", err: "message" });
}
