/* drive.h: one turn of the state machine, and the two ways to run it. */
#ifndef LEAT_FEED_DRIVE_H
#define LEAT_FEED_DRIVE_H
#include "feed/state.h"

/* One turn; true where anything moved.  Never sleeps. */
bool leat_feed_turn(leat_feed *feed);
void leat_feed_thread_start(leat_feed *feed);
void leat_feed_thread_stop(leat_feed *feed);
/* The trainer's thread waits for a change, with the mutex held before and after: a nap where a thread drives, else turns of
 * its own.  *ns is the nap to take, begun at 10 µs by the caller. */
void leat_feed_wait(leat_feed *feed, uint64_t *ns);
#endif
