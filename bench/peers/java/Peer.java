import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The Java peers of `npm run bench -- --foreign`; bench/src/foreign/run-peer.ts has the arguments. */
public final class Peer {
  /** Acquires a lock and releases it. */
  interface Pair {
    void run() throws Exception;
  }

  /** Makes the pair of one loop, on the lock of that name. */
  interface Library {
    Pair on(String lock) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Library library = open(args[0], args[1]);
    int loops = Integer.parseInt(args[2]);
    boolean hot = args[3].equals("hot");
    long warmUpNs = Long.parseLong(args[4]) * 1_000_000;
    long runNs = Long.parseLong(args[5]) * 1_000_000;

    List<Pair> pairs = new ArrayList<>();
    for (int loop = 0; loop < loops; loop++) pairs.add(library.on(hot ? "hot" : "free-" + loop));
    System.out.println("ready");
    System.in.read();
    long startNs = System.nanoTime() + warmUpNs;
    long count = countPairs(pairs, startNs, startNs + runNs);
    System.out.println("{\"pairs\": " + count * 1e9 / runNs + "}");
    System.exit(0);
  }

  static Library open(String name, String address) {
    return switch (name) {
      case "Redisson" -> redisson(address);
      case "jetcd" -> jetcd(address);
      case "Curator" -> curator(address);
      default -> throw new IllegalArgumentException(name);
    };
  }

  static Library redisson(String address) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + address);
    RedissonClient client = Redisson.create(config);
    return name -> {
      RLock lock = client.getLock(name);
      return () -> {
        lock.lock();
        lock.unlock();
      };
    };
  }

  /** A lease for each loop, since loops of one lease share its lock. It outlasts the run. */
  static Library jetcd(String address) {
    Client client = Client.builder().endpoints("http://" + address).build();
    return name -> {
      long lease = client.getLeaseClient().grant(300).get().getID();
      ByteSequence lock = ByteSequence.from("/peer/" + name, UTF_8);
      return () -> {
        ByteSequence key = client.getLockClient().lock(lock, lease).get().getKey();
        client.getLockClient().unlock(key).get();
      };
    };
  }

  static Library curator(String address) {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(address, 30000, 5000, new RetryNTimes(3, 100));
    client.start();
    return name -> {
      InterProcessMutex mutex = new InterProcessMutex(client, "/peer/" + name);
      return () -> {
        mutex.acquire();
        mutex.release();
      };
    };
  }

  /** Counts the pairs between start and end, while each pair runs in a thread from now on. */
  static long countPairs(List<Pair> pairs, long startNs, long endNs) throws Exception {
    AtomicLong count = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (Pair pair : pairs) {
      Thread thread = new Thread(() -> repeat(pair, count, startNs, endNs));
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) thread.join();
    return count.get();
  }

  static void repeat(Pair pair, AtomicLong count, long startNs, long endNs) {
    try {
      while (System.nanoTime() - endNs < 0) {
        pair.run();
        long now = System.nanoTime();
        if (now - startNs > 0 && now - endNs < 0) count.incrementAndGet();
      }
    } catch (Exception error) {
      error.printStackTrace();
      System.exit(1);
    }
  }
}
