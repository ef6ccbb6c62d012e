import java.util.*;
import java.util.concurrent.locks.LockSupport;
public class Small {
  @jdk.jfr.Name("app.Request") @jdk.jfr.Label("Request") @jdk.jfr.Category({"App", "Web"})
  static class Request extends jdk.jfr.Event { String path; int status; long bytes; double ratio; float part; boolean hit; char letter; byte small; short size; Class<?> kind; Thread peer; String none; @jdk.jfr.Timespan("MILLISECONDS") long wait; @jdk.jfr.Timestamp("MILLISECONDS_SINCE_EPOCH") long at; }
  static final Object lock = new Object();
  static volatile int sink;
  static volatile Object kept;
  static int spin(int n) { int x = n; for (int i = 0; i < 2_000_000; i++) x = x * 31 + i; return x; }
  static int deep(int n) { return n == 0 ? spin(7) : deep(n - 1) + 1; }
  static void allocate() { for (int i = 0; i < 20; i++) kept = new byte[100_000 + i]; }
  public static void main(String[] a) throws Exception {
    Thread other = new Thread(() -> { for (int i = 0; i < 6; i++) { synchronized (lock) { try { Thread.sleep(25); } catch (InterruptedException e) {} } LockSupport.parkNanos(21_000_000); } }, "worker é");
    other.start();
    long end = System.nanoTime() + 700_000_000L;
    int n = 0;
    while (System.nanoTime() < end) {
      Request r = new Request(); r.begin(); r.path = n % 2 == 0 ? "/index" : "/ünïcode/\u20ac"; r.status = -200; r.bytes = -5000000000L + n; r.ratio = 0.5; r.part = 0.25f; r.hit = n % 2 == 0; r.letter = '\u20ac'; r.small = -3; r.size = -300; r.kind = String[].class; r.peer = other; r.wait = 1500; r.at = 1700000000123L;
      sink = deep(5); allocate();
      synchronized (lock) { sink++; }
      r.end(); r.commit(); n++;
      if (n == 3) System.gc();
    }
    other.join();
  }
}
