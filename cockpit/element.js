/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elements of the page. Texts of devices and users become text nodes only. */
import { _ } from "./words.js";

/* Makes an element. An attribute that is a function is a listener; null and false leave one out. */
export function element(tag, attributes, ...children) {
    const made = tag === "svg" || tag === "rect" || tag === "text" || tag === "title"
        ? document.createElementNS("http://www.w3.org/2000/svg", tag)
        : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (typeof value === "function")
            made.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false)
            made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter(child => child || child === 0));
    return made;
}

/* key: finds the control again after its card has been made again. */
export function button(key, label, press, attributes) {
    return element("button", Object.assign({ type: "button", "data-key": key, click: press }, attributes), label);
}

function copy_by_selection(text) {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true", tabindex: "-1" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
}

/* The clipboard's own API exists only under https and on localhost. */
async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch (error) {
        return copy_by_selection(text);
    }
}

let news_timer = 0;

/* Shows a sentence for some seconds. Screen readers read it. */
export function tell(sentence, tone) {
    const news = document.getElementById("news");
    news.replaceChildren(element("p", { class: "news " + (tone || "") }, sentence));
    clearTimeout(news_timer);
    news_timer = setTimeout(() => news.replaceChildren(), 12000);
}

/* A command with a button that copies it. */
export function command_line(command, key) {
    return element("div", { class: "command" },
                   element("code", {}, command),
                   button(key, _("Copy"), async () => {
                       const copied = await copy(command);
                       tell(copied ? _("Copied.") : _("The browser does not allow to copy. Select the command."));
                   }, { "aria-label": _("Copy") + ": " + command }));
}

/* Gives the focus to the control with this key, or to the first one. */
export function focus_key(parent, key) {
    const control = parent.querySelector(`[data-key="${CSS.escape(key)}"]`);
    (control || parent.querySelector("button") || parent).focus();
}

/* Replaces the children, and keeps the focus on the control with the same key. */
export function replace_children(parent, ...children) {
    const had = parent.contains(document.activeElement) && document.activeElement.dataset.key;
    parent.replaceChildren(...children.flat(Infinity).filter(child => child));
    if (had)
        focus_key(parent, had);
}
