/*
 * Leases and fencing tokens: two clients, one lock with a lease, one counter that the lock
 * protects.
 *
 * Spin looks at every interleaving of the clients' steps and of the ticks of one clock. A client
 * may be slow between any two steps, so a tick there is a pause of the client, or a message that is
 * late. Steps that a store or a resource does at once are atomic. No others are.
 *
 * What is built differently from variant to variant:
 *   FENCE        0 the counter knows no tokens; 1 it refuses small ones in writes; 2 in both
 *   PAUSE        1 time may pass between a look at the deadline and the use after it; 0 it may not
 *   FROM_REPLY   1 a lease is counted from when the reply came; 0 from when the request left
 *   OWNER        1 only the owner releases; 0 any client does
 * What must hold (each is an assertion, and only where it is asked for):
 *   STALE        the counter accepts no write under a smaller token than that of an accepted write
 *   LOST         the counter is as large as the number of writes that it accepted
 *   WITHIN       a client that sees its deadline ahead holds the lock in the store at that moment
 *   AT_CHECK     no other client holds the lock when a client sees its deadline ahead
 *   AT_USE       no other client holds the lock when a client's write arrives
 *
 * Not in the model: clocks of different speeds (what the margin of a deadline is for), and a store
 * that loses what it granted.
 */

#ifndef FENCE
#define FENCE 2
#endif
#ifndef PAUSE
#define PAUSE 1
#endif
#ifndef FROM_REPLY
#define FROM_REPLY 0
#endif
#ifndef OWNER
#define OWNER 1
#endif

#define TTL 2
/* Enough for a client to hold, to sleep through its lease, and for the other to hold after it. */
#define END_OF_TIME 5
#define NO_CLIENT 0

byte now = 0

/* The store. */
byte holder = NO_CLIENT
byte expires = 0
byte lastToken = 0

/* The resource. */
byte counter = 0
byte fence = 0

/* What only the assertions know. */
byte accepted = 0
byte newest = 0

/* Clients between a look at the deadline and the use that follows. */
byte inUse = 0

#define HELD_BY(client) (holder == client && now < expires)
#define HELD_BESIDE(client) (holder != client && holder != NO_CLIENT && now < expires)
#define NAME(client) ('A' + client - 1)

inline acquire() {
  sent = now;
  printf("t=%d  %c asks for the lock\n", now, NAME(me));
  atomic {
    (holder == NO_CLIENT || now >= expires) ->
    holder = me;
    expires = now + TTL;
    lastToken++;
    token = lastToken;
    printf("t=%d  the store grants %c the lock, token %d, until %d\n", now, NAME(me), token, expires)
  };
  atomic {
    deadline = (FROM_REPLY -> now : sent) + TTL;
    printf("t=%d  %c gets the answer, and believes until %d\n", now, NAME(me), deadline)
  }
}

/* The outcome is not looked at: the deadline says all. */
inline renew() {
  sent = now;
  atomic {
    if
    :: HELD_BY(me) ->
       expires = now + TTL;
       renewed = true;
       printf("t=%d  the store renews the lease of %c until %d\n", now, NAME(me), expires)
    :: else -> renewed = false
    fi
  };
  atomic {
    if
    :: renewed && now < deadline ->
       deadline = (FROM_REPLY -> now : sent) + TTL;
       printf("t=%d  %c gets the answer, and believes until %d\n", now, NAME(me), deadline)
    :: else
    fi
  }
}

/* The look at the deadline that comes before each use. */
inline check() {
  atomic {
    if
    :: now < deadline ->
       mayUse = true;
       inUse++;
       printf("t=%d  %c looks: its lease is on\n", now, NAME(me));
#ifdef WITHIN
       assert(HELD_BY(me));
#endif
#ifdef AT_CHECK
       assert(!HELD_BESIDE(me));
#endif
       skip
    :: else ->
       mayUse = false;
       printf("t=%d  %c looks: its lease is over\n", now, NAME(me))
    fi
  }
}

inline read() {
  atomic {
    if
    :: FENCE == 2 && token < fence ->
       mayUse = false;
       printf("t=%d  the counter refuses %c the read: %d is smaller than %d\n", now, NAME(me), token, fence)
    :: else ->
       if
       :: FENCE == 2 -> fence = token
       :: else
       fi;
       seen = counter;
       printf("t=%d  %c reads %d\n", now, NAME(me), seen)
    fi;
    inUse--
  }
}

inline write() {
  atomic {
#ifdef AT_USE
    if
    :: HELD_BESIDE(me) ->
       printf("t=%d  the write of %c arrives while %c has the lock\n", now, NAME(me), NAME(holder))
    :: else
    fi;
    assert(!HELD_BESIDE(me));
#endif
    if
    :: FENCE > 0 && token < fence ->
       printf("t=%d  the counter refuses %c the write: %d is smaller than %d\n", now, NAME(me), token, fence)
    :: else ->
       if
       :: FENCE > 0 -> fence = token
       :: else
       fi;
       counter = seen + 1;
       accepted++;
       printf("t=%d  %c writes %d under the token %d\n", now, NAME(me), counter, token);
#ifdef STALE
       assert(token >= newest);
#endif
       newest = (token > newest -> token : newest);
#ifdef LOST
       assert(counter == accepted)
#endif
    fi;
    inUse--
  }
}

inline release() {
  atomic {
    if
    :: HELD_BY(me) || (!OWNER && holder != NO_CLIENT) ->
       holder = NO_CLIENT;
       printf("t=%d  %c releases the lock\n", now, NAME(me))
    :: else -> printf("t=%d  %c is answered that its lease was lost\n", now, NAME(me))
    fi
  }
}

proctype Client(byte me) {
  byte sent, token, deadline, seen
  bool mayUse, renewed
  acquire();
  if
  :: renew()
  :: skip
  fi;
  check();
  if
  :: mayUse -> read()
  :: else
  fi;
  if
  :: mayUse ->
     check();
     if
     :: mayUse -> write()
     :: else
     fi
  :: else
  fi;
  release()
}

proctype Clock() {
  do
  :: atomic {
       now < END_OF_TIME && (PAUSE || inUse == 0) ->
       now++
     }
  :: now == END_OF_TIME -> break
  od
}

init {
  atomic {
    run Client(1);
    run Client(2);
    run Clock()
  }
}
