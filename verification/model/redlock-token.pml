/*
 * Fencing tokens of Redlock: two claims, three nodes with clocks of their own.
 *
 * Each step is one atomic thing that a node or a client does, in any order. So each message may be
 * late, and a message that never arrives is a lost one. Nodes exclude nothing here: both claims are
 * readers. Claims that exclude each other have fewer histories.
 *
 * A node votes with max(last token + 1, its clock), or with a larger token that the client
 * proposes. The client takes the largest of the votes that it knows, and a majority seals it. A
 * refused client takes a token above all that it knows.
 *
 * What is built differently from variant to variant:
 *   SEALS       1 a grant needs a majority of seals; 0 a majority of votes is enough
 *   COMPARE     1 a node seals what is larger than its last token, or the claim's own; 0 anything
 *   CLAIM       1 only the claim's own token passes the comparison; 0 one that equals the last
 *   KEEP        a node forgets its last token when its clock has passed it by this; -1 at once
 *   PROPOSED    the token that both clients propose; 0 none
 *   AHEAD       how far ahead of its clock a node follows a proposal
 *   BLIND       1 a node votes with the proposal without a look at its last token
 *   STEP        how far a node's clock may step back, once
 *   WIPES       how many times nodes restart without their data; with data they lose messages only
 *   KEPT        1 the promise covers nodes that kept their data; 0 all nodes
 * What must hold when a claim is granted, and its majority has a node that sealed the other's token
 * and kept it: the tokens differ; and if the other acquire returned before this one began, and the
 * node had sealed before it voted, this token is larger.
 */

#ifndef SEALS
#define SEALS 1
#endif
#ifndef COMPARE
#define COMPARE 1
#endif
#ifndef CLAIM
#define CLAIM 1
#endif
#ifndef KEEP
#define KEEP 0
#endif
#ifndef PROPOSED
#define PROPOSED 0
#define AHEAD 0
#endif
#ifndef BLIND
#define BLIND 0
#endif
#ifndef STEP
#define STEP 0
#endif
#ifndef WIPES
#define WIPES 1
#endif
#ifndef KEPT
#define KEPT 1
#endif
#ifndef RAISES
#define RAISES 1
#endif
/* Where the clocks begin. The nodes are alike, so that one order of them is enough. */
#ifndef FIRST
#define FIRST 1
#define SECOND 1
#define THIRD 3
#endif
#ifndef TICKS
#define TICKS 0
#endif

#define NODES 3
#define OTHER(c) (1 - c)
#define AT(c, n) ((c) * NODES + (n))
#define NAME(c) ('A' + c)

/* The nodes: their clocks, last tokens, and how many times they lost their data. */
byte clock[NODES]
byte last[NODES]
byte life[NODES]
/* What a node knows of a claim: its token there, 0 where it has no vote; and that it has ended. */
byte own[6]
bool ended[6]

/* The clients. */
byte token[2]
bool asked[2]
bool granted[2]
byte raises[2]
/* Answers of nodes that the client may know: a vote, a seal, or the last token of a refusal. */
byte vote[6]
byte sealed[6]
byte refused[6]
/* The token of a seal in flight. */
byte sealing[6]

/* What only the assertions know. In which life a node sealed, counted from 1. */
byte sealedIn[6]
/* The other claim's seal was there when the node voted. */
bool after[6]
/* The other acquire had returned when this one began. */
bool later[2]

byte ticks = 0
byte wipes = 0
bool stepped = false

/* Its own vote is as good as a seal, if the client takes it. Without seals any vote is. */
#define HAS_SEALED(c, n) \
  (sealed[AT(c, n)] == token[c] || vote[AT(c, n)] == token[c] || (!SEALS && vote[AT(c, n)] != 0))
#define LARGER(a, b) (a > b -> a : b)
#define PROPOSED_AT(n) (PROPOSED > clock[n] + AHEAD -> clock[n] + AHEAD : PROPOSED)

/* The promise, at the moment of a grant. */
inline check(c) {
  for (m : 0 .. NODES - 1) {
    if
    :: granted[OTHER(c)] && HAS_SEALED(c, m) && HAS_SEALED(OTHER(c), m) &&
       (!KEPT || sealedIn[AT(OTHER(c), m)] == sealedIn[AT(c, m)]) ->
       assert(token[c] != token[OTHER(c)]);
       assert(!later[c] || !after[AT(c, m)] || token[c] > token[OTHER(c)])
    :: else
    fi
  }
  m = 0
}

/* A node gets the request for a vote. Under a lease it had lost its data, and seals again. */
inline voteAt(c, n) {
  last[n] = LARGER(last[n] + 1, clock[n]);
  if
  :: BLIND || PROPOSED_AT(n) > last[n] -> last[n] = PROPOSED_AT(n)
  :: else
  fi;
  own[AT(c, n)] = last[n];
  after[AT(c, n)] = HAS_SEALED(OTHER(c), n) && (!KEPT || sealedIn[AT(OTHER(c), n)] == life[n] + 1);
  if
  :: granted[c] -> sealing[AT(c, n)] = token[c]
  :: else -> vote[AT(c, n)] = last[n]
  fi;
  sealedIn[AT(c, n)] = (!SEALS || token[c] == 0 || token[c] == last[n] -> life[n] + 1 : 0);
  printf("step  node %d votes %d for %c\n", n + 1, last[n], NAME(c))
}

inline endVote(c, n) {
  if
  :: own[AT(c, n)] != 0 -> own[AT(c, n)] = 0; ended[AT(c, n)] = true
  :: else
  fi
}

inline sealAt(c, n) {
  if
  :: own[AT(c, n)] != 0 && (!COMPARE || sealing[AT(c, n)] > last[n] ||
       sealing[AT(c, n)] == (CLAIM -> own[AT(c, n)] : last[n])) ->
     last[n] = LARGER(last[n], sealing[AT(c, n)]);
     own[AT(c, n)] = sealing[AT(c, n)];
     sealed[AT(c, n)] = sealing[AT(c, n)];
     sealedIn[AT(c, n)] = life[n] + 1;
     printf("step  node %d seals %d for %c\n", n + 1, sealing[AT(c, n)], NAME(c))
  :: else ->
     if
     :: own[AT(c, n)] != 0 -> refused[AT(c, n)] = last[n]
     :: else
     fi;
     printf("step  node %d refuses to seal %d for %c\n", n + 1, sealing[AT(c, n)], NAME(c))
  fi;
  sealing[AT(c, n)] = 0
}

/* The client chooses among the votes that it knows: of two nodes, or of all three. */
inline choose(c, x, y) {
  token[c] = LARGER(vote[AT(c, x)], vote[AT(c, y)]);
  printf("step  %c takes %d from nodes %d and %d\n", NAME(c), token[c], x + 1, y + 1)
}

inline sendSeals(c) {
  for (n : 0 .. NODES - 1) {
    if
    :: vote[AT(c, n)] != 0 && !HAS_SEALED(c, n) -> sealing[AT(c, n)] = token[c]
    :: else
    fi
  }
  n = 0
}

inline raise(c) {
  for (n : 0 .. NODES - 1) {
    token[c] = LARGER(token[c], LARGER(refused[AT(c, n)], vote[AT(c, n)]))
  }
  token[c]++;
  raises[c]++;
  for (n : 0 .. NODES - 1) {
    refused[AT(c, n)] = 0
  }
  n = 0;
  printf("step  %c takes %d, above all that it knows\n", NAME(c), token[c])
}

inline grant(c, x, y) {
  granted[c] = true;
  printf("step  %c is granted the token %d by nodes %d and %d\n", NAME(c), token[c], x + 1, y + 1);
  check(c);
  /* Fewer states: the client needs the other answers no more. */
  for (n : 0 .. NODES - 1) {
    sealed[AT(c, n)] = (HAS_SEALED(c, n) -> token[c] : 0);
    vote[AT(c, n)] = 0;
    refused[AT(c, n)] = 0
  }
  n = 0
}

#define KNOWS(c, x, y) (asked[c] && token[c] == 0 && vote[AT(c, x)] != 0 && vote[AT(c, y)] != 0)
#define HAVE_SEALED(c, x, y) (HAS_SEALED(c, x) && HAS_SEALED(c, y))
#define IS_REFUSED(c, n) (refused[AT(c, n)] >= token[c])

/* With two grants all is decided. */
#define IS_OPEN (!granted[0] || !granted[1])
/* A client asks again when a node has not answered, and for a vote that it lost under a lease. */
#define MAY_VOTE(c, n) \
  (IS_OPEN && asked[c] && own[AT(c, n)] == 0 && !ended[AT(c, n)] && (granted[c] || vote[AT(c, n)] == 0))

/* What happens to one claim at one node. */
#define CLAIM_STEPS(c, n) \
  :: d_step { MAY_VOTE(c, n) -> voteAt(c, n) } \
  :: d_step { IS_OPEN && sealing[AT(c, n)] != 0 -> sealAt(c, n) }

#define NODE_STEPS(n) \
  :: d_step { IS_OPEN && ticks < TICKS -> clock[n]++; ticks++; \
       printf("step  the clock of node %d is at %d\n", n + 1, clock[n]) } \
  :: d_step { IS_OPEN && STEP > 0 && !stepped -> \
       stepped = true; clock[n] = (clock[n] > STEP -> clock[n] - STEP : 0); \
       printf("step  the clock of node %d steps back to %d\n", n + 1, clock[n]) } \
  :: d_step { IS_OPEN && wipes < WIPES -> \
       wipes++; life[n]++; last[n] = 0; \
       own[AT(0, n)] = 0; own[AT(1, n)] = 0; ended[AT(0, n)] = false; ended[AT(1, n)] = false; \
       printf("step  node %d restarts without its data\n", n + 1) } \
  :: d_step { IS_OPEN && last[n] != 0 && (KEEP < 0 || clock[n] > last[n] + KEEP) -> \
       last[n] = 0; endVote(0, n); endVote(1, n); \
       printf("step  the votes of node %d have ended, and it forgets its last token\n", n + 1) } \
  CLAIM_STEPS(0, n) \
  CLAIM_STEPS(1, n)

/* The client decides from the answers of two nodes. It may not know a third answer yet. */
#define PAIR_STEPS(c, x, y) \
  :: d_step { KNOWS(c, x, y) -> choose(c, x, y); sendSeals(c) } \
  :: d_step { token[c] != 0 && !granted[c] && HAVE_SEALED(c, x, y) -> grant(c, x, y) }

#define CLIENT_STEPS(c) \
  PAIR_STEPS(c, 0, 1) \
  PAIR_STEPS(c, 0, 2) \
  PAIR_STEPS(c, 1, 2) \
  :: d_step { SEALS && token[c] != 0 && !granted[c] && raises[c] < RAISES && \
       (IS_REFUSED(c, 0) || IS_REFUSED(c, 1) || IS_REFUSED(c, 2)) -> raise(c); sendSeals(c) }

active proctype Protocol() {
  byte m, n
  d_step {
    clock[0] = FIRST; clock[1] = SECOND; clock[2] = THIRD;
    printf("step  the clocks are at %d, %d and %d\n", clock[0], clock[1], clock[2])
  }
end:
  do
  :: d_step { !asked[0] -> asked[0] = true; printf("step  A begins\n") }
  :: d_step { asked[0] && !asked[1] ->
       asked[1] = true; later[1] = granted[0]; printf("step  B begins\n") }
  CLIENT_STEPS(0)
  CLIENT_STEPS(1)
  NODE_STEPS(0)
  NODE_STEPS(1)
  NODE_STEPS(2)
  od
}
