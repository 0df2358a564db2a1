// Package wallclock is the clock against which the pages write relative times. The preview and its tests stop it.
package wallclock

import "time"

// Now is the present. It is set before the first page is made, if at all.
var Now = time.Now
