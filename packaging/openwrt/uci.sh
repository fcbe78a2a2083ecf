# SPDX-License-Identifier: LGPL-2.1-or-later

# /etc/config/uasd as a drop-in of uasd.conf. It is written only if it has changed: /etc may be flash.
write_conf() {
	local folder=/etc/uasd/uasd.conf.d new=/var/run/uasd-uci.conf

	option_cb() { echo "$1=$2"; }
	{
		echo '[uasd]'
		config_load uasd
	} >$new
	reset_cb
	mkdir -p $folder
	cmp -s $new $folder/uci.conf || cp $new $folder/uci.conf
	rm -f $new
}

reload_service() {
	restart
}

service_triggers() {
	procd_add_reload_trigger uasd
}
