import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/** Pairs a second of Curator's InterProcessMutex: ADDRESS THREADS own|one, each thread on a lock of its own or all on one. */
public class Curator {
  static final long WARM_UP_MS = 3000;
  static final long RUN_MS = 2500;

  public static void main(String[] args) throws Exception {
    int threads = Integer.parseInt(args[1]);
    CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 30000, 5000, new RetryNTimes(3, 100));
    client.start();
    run(client, threads, args[2].equals("one"), WARM_UP_MS);
    double pairs = run(client, threads, args[2].equals("one"), RUN_MS);
    System.out.println("{\"pairs\":" + pairs + "}");
    System.exit(0);
  }

  static double run(CuratorFramework client, int threads, boolean one, long forMs) throws Exception {
    AtomicLong pairs = new AtomicLong();
    long startNs = System.nanoTime();
    Thread[] all = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      InterProcessMutex mutex = new InterProcessMutex(client, "/curator/" + (one ? "hot" : "lock-" + i));
      all[i] = new Thread(() -> {
        try {
          while (System.nanoTime() - startNs < forMs * 1_000_000) {
            mutex.acquire();
            mutex.release();
            pairs.incrementAndGet();
          }
        } catch (Exception error) {
          error.printStackTrace();
          System.exit(1);
        }
      });
      all[i].start();
    }
    for (Thread thread : all) thread.join();
    return pairs.get() * 1e9 / (System.nanoTime() - startNs);
  }
}
