# SPDX-License-Identifier: LGPL-2.1-or-later
# From po/uasd.pot: the texts with conversions in these rooms, each ended by a NUL.
/^#: .*src\/\(core\/\|ctl\/events\|daemon\/\|hold\/\|switch\/\)/,/^msgid/ s/^msgid \(".*%.*"\)$/        \1 "\\0"/p
