/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions before a request. One dialogue is open at most. */
import { button, element, focus_key } from "./element.js";
import { _, fill } from "./words.js";

let open = null; /* { node, id } */

function dialog_close() {
    if (open)
        open.node.remove();
    open = null;
}

/*
 * id: the disk that it is about. body: elements. choices: [label, class, press()] each; press() may return a promise. Escape and
 * "Cancel" close it without a choice.
 */
function dialog_open(id, title, body, choices, danger) {
    const back = document.activeElement, card = back.closest(".disk");
    dialog_close();
    const node = element("dialog", {
        class: danger ? "danger" : "", "aria-labelledby": "dialog-title", close: () => {
            if (open && open.node === node)
                dialog_close();
            if (card) /* it may have been made again meanwhile */
                focus_key(card, back.dataset.key);
        },
    }, element("h2", { id: "dialog-title" }, title), body, element(
        "div", { class: "buttons" },
        choices.map(([label, kind, press]) => button(label, label, () => {
            node.close();
            press();
        }, { class: kind })),
        button("close", _("Cancel"), () => node.close())));
    open = { node, id };
    document.body.append(node);
    node.showModal();
    return node;
}

/* Closes a dialogue about a disk that is not there any more. Returns true if there was one. */
export function dialog_forget(has) {
    if (!open || has(open.id))
        return false;
    open.node.close();
    return true;
}

export function ask_eject(disk, name, press) {
    dialog_open(disk.Id, fill(_("Eject $0?"), name), element(
        "p", {}, _("uasd writes everything to the disk and stops it. It comes back when it is plugged in again.")),
                [[_("Eject"), "primary", press]]);
}

export function ask_forget(disk, name, press) {
    dialog_open(disk.Id, fill(_("Try uas again with $0?"), name), [
        element("p", {}, _("uasd forgets the errors of this disk, and may put it on uas again. Errors may return.")),
        element("p", {}, _("Check the file systems of the disk first.")),
    ], [[_("Forget the errors"), "primary", press]]);
}

/* reason: why uasd refuses without force. */
export function ask_force(disk, name, reason, press) {
    const sure = element("input", {
        type: "checkbox", "data-key": "sure", change: event => {
            node.querySelector(".risk").disabled = !event.target.checked;
        },
    });
    const node = dialog_open(disk.Id, fill(_("Force $0?"), name), [
        element("p", { class: "reason" }, reason),
        element("p", {}, _("If the bridge cannot do it, the disk may lose data.")),
        element("label", {}, sure, " ", _("I have a backup of this disk.")),
    ], [[_("Force it"), "risk", press]], true);
    node.querySelector(".risk").disabled = true;
}

/* show(policy): resolves to the change as text. press(policy) makes it. */
export function ask_boot(disk, name, show, press) {
    const diff = element("pre", { tabindex: "0", "aria-label": _("Change of the file") }, "…");
    let policy = disk.Driver === "uas" ? "usb-storage" : "auto";
    const select = element("select", {
        "data-key": "boot", change: event => {
            policy = event.target.value;
            update();
        },
    }, ["usb-storage", "uas", "auto"].map(one => element("option", { value: one, selected: one === policy }, one)));
    const node = dialog_open(disk.Id, fill(_("Driver of $0 at boot"), name), [
        element("p", {}, _("The running system is on this disk, so uasd cannot switch it now. An entry on the kernel command line selects its driver at boot.")),
        element("label", {}, _("Driver:"), " ", select), diff,
    ], [[_("Write"), "primary", () => press(policy)]]);
    const write = node.querySelector(".primary");

    async function update() {
        const wanted = policy;
        write.disabled = true;
        diff.textContent = "…";
        const { text, possible } = await show(wanted);
        if (wanted !== policy)
            return;
        diff.textContent = text;
        write.disabled = !possible;
    }
    update();
}
