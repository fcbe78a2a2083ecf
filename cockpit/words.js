/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sentences in the language of the user, and numbers and times as people write them. */
/* global cockpit */

export const _ = text => cockpit.gettext(text);
export const fill = (format, ...values) => cockpit.format(format, ...values);

/* "␂FORMAT␟VALUE␟VALUE␃", as src/common/sentence.c writes it. */
const BEGIN = "␂", VALUE = "␟", END = "␃";

export function parts_of(format, ...values) {
    return BEGIN + [format, ...values].join(VALUE) + END;
}

/* Returns where the part at `at` ends: where the next one begins, or its sentence ends. */
function part_end(text, at) {
    let depth = 0;
    for (; at < text.length; at++) {
        if (text[at] === BEGIN)
            depth++;
        else if (depth === 0 && (text[at] === END || text[at] === VALUE))
            break;
        else if (text[at] === END)
            depth--;
    }
    return at;
}

function fill_format(format, values) {
    let next = 0;
    return format.replace(/%(?:%|(?:(\d)\$)?[-\d+ #.*lzhjt]*[a-z])/g, (all, number) => {
        if (all === "%%")
            return "%";
        const value = values[number ? number - 1 : next++];
        return value === undefined ? "" : translated(value, 1);
    });
}

/* Translates a text that may contain sentences in parts. A value without a blank is a name. */
export function translated(text, depth = 0) {
    if (depth === 0 || text.includes(" "))
        text = _(text);
    let whole = "";
    for (let begin; (begin = text.indexOf(BEGIN)) >= 0;) {
        whole += text.slice(0, begin);
        let end = part_end(text, begin + 1);
        const format = text.slice(begin + 1, end), values = [];
        while (text[end] === VALUE) {
            const from = end + 1;
            end = part_end(text, from);
            values.push(text.slice(from, end));
        }
        whole += fill_format(_(format), values);
        text = text.slice(end + 1);
    }
    return whole + text;
}

export function size_text(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let i = 0;
    for (; bytes >= 999.5 && i < units.length - 1; i++)
        bytes /= 1000;
    return number_text(bytes, bytes < 9.95 && i > 0 ? 1 : 0) + " " + units[i];
}

export function number_text(number, digits) {
    return number.toLocaleString(cockpit.language.replace("_", "-"), { maximumFractionDigits: digits });
}

export function speed_text(mbps) {
    if (mbps >= 1000)
        return number_text(mbps / 1000, 1) + " Gbit/s";
    return number_text(mbps, 1) + " Mbit/s";
}

export function time_text(usec) {
    return new Date(usec / 1000).toLocaleString(cockpit.language.replace("_", "-"),
                                                { dateStyle: "short", timeStyle: "short" });
}

export function minutes_text(usec) {
    const minutes = Math.max(1, Math.round(Math.abs(usec / 1000 - Date.now()) / 60000));
    return fill(_("$0 min"), minutes);
}
