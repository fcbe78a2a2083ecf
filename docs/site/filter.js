/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* On a page with long tables: a field that hides the rows without its words. ?filter=WORDS in the address fills it. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const rows = Array.from(document.querySelectorAll("table tbody tr"));
    const first = document.querySelector("table");

    if (rows.length < 20)
        return;
    const label = document.createElement("label");
    const field = document.createElement("input");
    const count = document.createElement("output");

    field.type = "search";
    label.append("Show only rows with ", field, " ", count);
    first.before(label);

    function apply() {
        const words = field.value.toLowerCase().split(/\s+/);
        let shown = 0;

        for (const row of rows) {
            const text = row.textContent.toLowerCase();

            row.hidden = !words.every(word => text.includes(word));
            shown += row.hidden ? 0 : 1;
        }
        for (const table of document.querySelectorAll("table"))
            table.hidden = !table.querySelector("tbody tr:not([hidden])");
        count.textContent = shown + " of " + rows.length;
    }

    field.value = new URLSearchParams(location.search).get("filter") || "";
    field.addEventListener("input", apply);
    apply();
});
