/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* uasd on the system bus: its disks and jobs, kept up to date by its signals. */
/* global cockpit */

const NAME = "org.uasd1", DISK = "org.uasd1.Disk", JOB = "org.uasd1.Job", MANAGER = "org.uasd1.Manager";
const ROOT = "/org/uasd1", OBJECTS = "org.freedesktop.DBus.ObjectManager", PROPERTIES = "org.freedesktop.DBus.Properties";
const DBUS = "org.freedesktop.DBus", DBUS_PATH = "/org/freedesktop/DBus";
const AGAIN_MS = 2000, SETTLE_MS = 50;

function plain(variants) {
    const values = {};
    for (const [name, variant] of Object.entries(variants))
        values[name] = variant.v;
    return values;
}

/*
 * state: "loading", "running", "gone" (no program has the name), "lost" (no bus).
 * disks, jobs: by their paths, each as its properties.
 */
export class Bus {
    /* changed(): anything is another. ended(job): a request has ended. */
    constructor(changed, ended) {
        this.changed = changed;
        this.ended = ended;
        this.reset("loading");
        this.watch();
    }

    reset(state) {
        this.state = state;
        this.disks = new Map();
        this.jobs = new Map();
        this.stale = new Set();
        clearTimeout(this.timer);
        this.timer = 0;
    }

    /* Asks the bus for the owner of the name: a call to uasd would start it. */
    watch() {
        const bus = this.bus = cockpit.dbus(DBUS, { bus: "system" });
        bus.addEventListener("close", () => {
            if (bus !== this.bus)
                return;
            this.close("lost");
            setTimeout(() => this.watch(), AGAIN_MS);
        });
        bus.subscribe({ interface: DBUS, member: "NameOwnerChanged", arg0: NAME }, (path, of, signal, args) => {
            if (bus === this.bus)
                this.owned(args[2] !== "");
        });
        bus.call(DBUS_PATH, DBUS, "NameHasOwner", [NAME])
                .then(([has]) => bus === this.bus && this.owned(has))
                .catch(() => bus === this.bus && bus.close());
    }

    owned(has) {
        this.close(has ? "loading" : "gone");
        if (has)
            this.open();
    }

    close(state) {
        const client = this.client;
        this.client = null;
        if (client)
            client.close();
        this.reset(state);
        this.changed();
    }

    open() {
        const client = this.client = cockpit.dbus(NAME, { bus: "system", superuser: "try" });
        client.addEventListener("close", () => client === this.client && this.close("gone"));
        client.subscribe({ path_namespace: ROOT }, (...signal) => client === this.client && this.receive(...signal));
        client.call(ROOT, OBJECTS, "GetManagedObjects", [])
                .then(([objects]) => {
                    if (client !== this.client)
                        return;
                    this.state = "running";
                    for (const [path, interfaces] of Object.entries(objects))
                        this.add(path, interfaces);
                    this.changed();
                })
                .catch(() => client === this.client && this.close("gone"));
    }

    add(path, interfaces) {
        if (interfaces[DISK])
            this.disks.set(path, plain(interfaces[DISK]));
        if (interfaces[JOB])
            this.jobs.set(path, plain(interfaces[JOB]));
    }

    receive(path, of, signal, args) {
        if (signal === "InterfacesAdded")
            this.add(args[0], args[1]);
        else if (signal === "InterfacesRemoved") {
            this.disks.delete(args[0]);
            this.jobs.delete(args[0]);
        } else if (signal === "JobRemoved" && of === MANAGER)
            this.ended({ path: args[0], disk: args[1], code: args[2], step: args[3], text: args[5] });
        else if (signal === "PropertiesChanged") {
            const kept = (args[0] === JOB ? this.jobs : this.disks).get(path);
            if (!kept)
                return;
            Object.assign(kept, plain(args[1]));
            if (args[0] === DISK)
                this.refresh(path);
        }
        this.changed();
    }

    /* Signals leave out sentences and users: they are read once for a burst of signals. */
    refresh(path) {
        if (path)
            this.stale.add(path);
        if (!this.timer)
            this.timer = setTimeout(() => this.refresh_stale(), SETTLE_MS);
    }

    refresh_stale() {
        const client = this.client, paths = [...this.stale];
        this.timer = 0;
        this.stale.clear();
        for (const path of paths)
            client.call(path, PROPERTIES, "GetAll", [DISK])
                    .then(([all]) => {
                        if (client !== this.client || !this.disks.has(path))
                            return;
                        this.disks.set(path, plain(all));
                        this.changed();
                    })
                    .catch(() => {}); /* its removal follows */
    }

    /* null: there is no such disk. */
    path_of(id) {
        for (const [path, disk] of this.disks)
            if (disk.Id === id)
                return path;
        return null;
    }

    job_of(id) {
        for (const job of this.jobs.values())
            if (job.Disk === id)
                return job;
        return null;
    }

    /* Calls a method of a disk. options: those of cockpit. Rejects with an error of the bus; NoSuchDisk without a bus. */
    call(id, method, args, options) {
        const path = this.path_of(id);
        if (!path || !this.client)
            return Promise.reject(Object.assign(new Error(), { name: NAME + ".Error.NoSuchDisk" }));
        return this.client.call(path, DISK, method, args, options);
    }
}
