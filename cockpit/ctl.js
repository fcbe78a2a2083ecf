/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What other programs know of a disk: uasctl the commands that free it, its health, log, decision and benchmark; the kernel its use. */
/* global cockpit */

const EVENTS = 5, IDLE_MS = 10000;

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
    return answer ? answer.disks[0].rows : [];
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

/* By block device: { line, since }. The kernel's counters, and the time in ms since which they are the same. */
let uses = new Map();

/* One file for all disks. Everyone may read it. */
export async function note_uses() {
    const text = await cockpit.spawn(["cat", "/proc/diskstats"], { err: "message" }).catch(() => "");
    const now = Date.now(), seen = new Map();
    for (const line of text.split("\n")) {
        const name = line.trim().split(/\s+/)[2], before = uses.get(name);
        seen.set(name, before && before.line === line ? before : { line, since: now });
    }
    uses = seen;
}

/* Whether a block device of the disk was used in the last 10 s. "Not known" counts as used. */
export async function used_lately(disk) {
    await note_uses();
    return disk.Disks.some(([name]) => !uses.has(name) || Date.now() - uses.get(name).since < IDLE_MS);
}

/* The mount point of a disk whose one user is a mount of fstab, or null. */
export async function read_plain_mount(disk) {
    const [kind, , where, namespace] = disk.Busy[0] || [];
    if (disk.State !== "waiting" || disk.Busy.length !== 1 || kind !== "mount" || namespace)
        return null;
    return cockpit.spawn(["findmnt", "--fstab", "--mountpoint", where], { err: "message" }).then(() => where, () => null);
}

export function unmount(where) {
    return cockpit.spawn(["umount", where], { superuser: "require", err: "message" });
}

/* Why no program has the name of uasd: "absent", "off" or "stopped". */
export async function read_service() {
    try {
        const shown = await cockpit.spawn(["systemctl", "show", "--property=LoadState", "uasd.service"], { err: "message" });
        if (/^LoadState=(not-found|masked)/.test(shown))
            return "absent";
        const line = await cockpit.spawn(["cat", "/proc/cmdline"], { err: "message" });
        return /(^|\s)uasd=off(\s|$)/.test(line) ? "off" : "stopped";
    } catch (error) {
        return "stopped";
    }
}

export function start_service() {
    return cockpit.spawn(["systemctl", "start", "uasd.service"], { superuser: "require", err: "message" });
}
