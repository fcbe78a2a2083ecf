/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors of the bus and of programs, as sentences. */
import { name_of } from "./disk.js";
import { _, fill, parts_of, translated } from "./words.js";

const OURS = "org.uasd1.Error.", BUS = "org.freedesktop.DBus.Error.";
const NO_RIGHTS = ["AccessDenied", "InteractiveAuthorizationRequired", "AuthFailed"].map(name => BUS + name);
const NO_DISK = [OURS + "NoSuchDisk", BUS + "UnknownObject"];
const NO_ANSWER = ["NoReply", "ServiceUnknown", "NameHasNoOwner", "Timeout", "TimedOut", "Disconnected"].map(name => BUS + name);
/* uasd reports these with a sentence for users. */
const SAID = [...["Incapable", "Refused", "ForceNeeded", "InUse", "Stopping"].map(name => OURS + name), BUS + "LimitsExceeded"];

export function is_force_needed(error) {
    return error.name === OURS + "ForceNeeded";
}

/* Of a call, or of a program that cockpit should start. */
export function is_not_allowed(error) {
    return NO_RIGHTS.includes(error.name) || error.problem === "access-denied" || error.problem === "not-authorized";
}

export function not_allowed() {
    return _("You are not allowed to do that. Turn on administrative access first.");
}

/* cockpit returns only the English sentence. So its format is found by the values that it may have: the id and the lease. */
function said_by_uasd(disk, text) {
    const values = [name_of(disk)];
    let format = text.replace(disk.Id, "%s");
    if (disk.Lease && format.includes(disk.Lease)) {
        format = format.replace(disk.Lease, "%s");
        values.push(disk.Lease);
    }
    const [, rest] = /^%s: (.*)$/.exec(format) || [];
    if (rest && _(format) === format)
        return translated(parts_of("%s: %s", values[0], rest));
    return translated(parts_of(format, ...values));
}

export function error_text(disk, error) {
    const name = name_of(disk), text = error.message || "";
    if (is_not_allowed(error))
        return not_allowed();
    if (NO_DISK.includes(error.name))
        return fill(_("$0 was unplugged."), name);
    if (error.name === OURS + "InUse" && text.includes(" cannot be ejected: "))
        return fill(_("$0 is in use. Its details show by what."), name);
    if (SAID.includes(error.name))
        return said_by_uasd(disk, text);
    if (!error.name || NO_ANSWER.includes(error.name))
        return fill(_("$0: uasd did not answer. Its journal has the reason."), name);
    return fill(_("$0: uasd could not do that. Its journal has the reason."), name);
}
