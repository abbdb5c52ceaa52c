/*
 * How long a client may believe that its session with ZooKeeper lives: a client, the follower that
 * it is connected to, and the leader, which counts the timeout of the session.
 *
 * Each message waits in a channel until its receiver takes it, in any order of the receivers: so
 * each may be late. A follower takes note of each message of a client. The leader pings it each
 * HALF, and it hands the note over with its answer. That travels to the leader on one connection
 * with the requests of the client, in their order. A quorum agrees to a request of a leader that
 * was not deposed, and that alone keeps no session alive. The way between follower and leader may
 * be cut once, at any time, and what is on it is lost. The client may connect to another follower,
 * which asks the leader first. A new leader counts all sessions from its start.
 *
 * What is built differently from variant to variant:
 *   RULE     from when the client counts the timeout, once a quorum has agreed to its request:
 *            0 from the request, with a tick taken off the timeout
 *            1 from a sign of life that had left RIPE before the request
 *            2 from a sign of life that was answered RIPE before the request left
 *   LATE     how much later than HALF after the last one a ping may reach the follower
 *   AGREED   1 the request needs a quorum; 0 a leader that was deposed answers it by itself
 * What must hold: the session lives as long as the client believes.
 *
 * The client remembers one sign of life, any of those that were answered. It has as many histories
 * as if it chose among all of them.
 */

#ifndef RULE
#define RULE 2
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef AGREED
#define AGREED 1
#endif
/* How many messages the client sends, and how often it connects to another follower. */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef MOVES
#define MOVES 1
#endif

#define HALF 1
#define RIPE (HALF + 1)
#define TICK (2 * HALF)
#define TIMEOUT 4
#ifndef END_OF_TIME
#define END_OF_TIME 6
#endif

mtype = { sign, request, greeting, note }

/* With the time at which the message left, and the time from which an agreed request counts. */
chan toFollower = [2] of { mtype, byte, byte }
chan toClient = [2] of { mtype, byte, byte }
chan toLeader = [2] of { mtype, byte, byte }

byte now = 0
/* The leader: when it last heard of the session. */
byte heard = 0
bool deposed = false
/* The follower. */
bool isNoted = false
byte pinged = 0
bool isCut = false
bool wasCut = false
/* The client. */
bool connected = true
byte until = 0
byte signSent = 0
byte signAnswered = 0
/* A greeting is proven at once. */
bool isGreeting = true
byte messages = 0
byte moves = 0

mtype kind
byte sent, since

#define IS_ALIVE (now < heard + TIMEOUT)
#define BELIEVES (now < until)
#define IS_RIPE (isGreeting || (RULE == 1 -> signSent + RIPE <= now : signAnswered + RIPE <= now))
/* A session that has ended stays so. */
#define IS_OPEN (IS_ALIVE || BELIEVES)
#define PING_IS_DUE (!isCut && now >= pinged + HALF + LATE)

inline forget() {
  kind = sign; sent = 0; since = 0
}

inline lose(channel) {
  do
  :: channel ? kind, sent, since
  :: empty(channel) -> break
  od;
  forget()
}

inline remember(answered) {
  signSent = sent;
  signAnswered = answered;
  isGreeting = false;
  printf("t=%d  the client remembers the sign of %d\n", now, sent)
}

inline move() {
  moves++;
  lose(toFollower);
  lose(toClient);
  lose(toLeader);
  connected = false;
  isNoted = false;
  isCut = false;
  pinged = now;
  toLeader ! greeting, now, 0
}

active proctype Protocol() {
end:
  do
  /* The client. */
  :: d_step { IS_OPEN && connected && messages < MESSAGES && nfull(toFollower) ->
       messages++; toFollower ! sign, now, 0;
       printf("t=%d  the client sends a sign of life\n", now) }
  :: d_step { IS_OPEN && connected && messages < MESSAGES && nfull(toFollower) && (RULE == 0 || IS_RIPE) ->
       messages++; toFollower ! request, now, (RULE == 0 -> now : signSent);
       printf("t=%d  the client sends a request, which counts from %d\n", now, (RULE == 0 -> now : signSent)) }
  :: atomic { toClient ? kind, sent, since ->
       if
       :: kind == greeting ->
          signSent = sent; signAnswered = now; isGreeting = true; connected = true;
          printf("t=%d  the client is connected\n", now)
       :: kind == request && since + TIMEOUT > until + (RULE == 0 -> TICK : 0) ->
          until = since + TIMEOUT - (RULE == 0 -> TICK : 0);
          printf("t=%d  the client is answered, and believes until %d\n", now, until)
       :: kind != greeting -> remember(now)
       :: kind != greeting
       fi;
       forget() }
  :: d_step { IS_OPEN && moves < MOVES -> move();
       printf("t=%d  the client goes to another follower\n", now) }
  :: d_step { IS_OPEN && moves < MOVES && deposed -> deposed = false; move();
       printf("t=%d  the client goes to a follower of the new leader\n", now) }
  /* The follower. */
  :: d_step { (IS_OPEN && len(toFollower) > 0 && nfull(toLeader) && nfull(toClient)) -> toFollower ? kind, sent, since;
       isNoted = true;
       if
       :: kind == sign -> toClient ! sign, sent, 0
       :: kind == request && !isCut -> toLeader ! request, sent, since
       :: else
       fi;
       printf("t=%d  the follower takes what the client sent at %d\n", now, sent);
       forget() }
  :: d_step { IS_OPEN && !isCut && nfull(toLeader) && now > pinged ->
       pinged = now;
       if
       :: isNoted -> toLeader ! note, now, 0;
          printf("t=%d  the follower is pinged, and hands its note over\n", now)
       :: else -> printf("t=%d  the follower is pinged, and has no note\n", now)
       fi;
       isNoted = false }
  /* The leader, and the network. */
  :: d_step { (IS_OPEN && len(toLeader) > 0 && nfull(toClient)) -> toLeader ? kind, sent, since;
       if
       :: kind == request && (!deposed || !AGREED) -> toClient ! request, sent, since;
          printf("t=%d  the request of %d is agreed to\n", now, sent)
       :: kind == greeting && (deposed || IS_ALIVE) -> toClient ! greeting, sent, 0
       :: else
       fi;
       if
       :: kind != request && !deposed && IS_ALIVE -> heard = now;
          printf("t=%d  the leader hears of the session\n", now)
       :: else
       fi;
       forget() }
  :: d_step { IS_OPEN && !wasCut && !isCut -> wasCut = true; isCut = true; lose(toLeader);
       printf("t=%d  the follower is cut off from the leader\n", now) }
  :: d_step { !wasCut && !deposed && IS_ALIVE -> wasCut = true; deposed = true; heard = now;
       printf("t=%d  another leader starts, and the follower stays with the old one\n", now) }
  /* Time. */
  :: d_step { IS_OPEN && now < END_OF_TIME && !PING_IS_DUE -> now++ }
     assert(IS_ALIVE || !BELIEVES)
  od
}
