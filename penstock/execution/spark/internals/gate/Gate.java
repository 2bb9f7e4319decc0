package penstock;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ServerChannel;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;

/**
 * Keeps strangers off the network servers of Spark.
 *
 * <p>Spark's streaming shuffle starts its servers on all addresses and lets everybody in. This class is put into the list
 * of extensions that Netty asks whenever a channel is made. Where all of Spark runs in this JVM, its servers are then bound
 * to its own address, and both ends of each connection prove that they know a random secret that never leaves the JVM. On
 * the executors of a cluster both ends of the shuffle's connections prove that they know the application's secret.
 */
public final class Gate extends ChannelInitializerExtension {
  private static final String MARK = "penstock.gate";
  private static final String SPARK = "org.apache.spark.network.";
  private static final String SHUFFLE = "org.apache.spark.shuffle.streaming.";

  final Proof proof;
  private final boolean isOnCluster;
  private final WeakReference<SparkEnv> before;

  private Gate(byte[] secret, boolean isOnCluster) {
    this.proof = new Proof(secret);
    this.isOnCluster = isOnCluster;
    this.before = new WeakReference<>(SparkEnv.get());
  }

  /** Guards all servers of Spark contexts that are started from now on, and new shuffle servers of one that runs. */
  public static void install() throws ReflectiveOperationException {
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    install(new Gate(secret, false));
  }

  /** Guards the shuffle between executors that know the same secret. */
  static void installOnCluster(byte[] secret) throws ReflectiveOperationException {
    install(new Gate(secret, true));
  }

  private static void install(Gate gate) throws ReflectiveOperationException {
    synchronized (System.class) {
      if (System.getProperty(MARK) == null) {
        register(gate);
        System.setProperty(MARK, "installed");
      }
    }
  }

  /** Netty has no call to add an extension while it runs, so its cache is filled; those that are there stay. */
  private static void register(Gate gate) throws ReflectiveOperationException {
    ClassLoader loader = ChannelInitializerExtension.class.getClassLoader();
    Class<?> registry = Class.forName("io.netty.bootstrap.ChannelInitializerExtensions", true, loader);
    Class<?> loading = Class.forName(registry.getName() + "$ServiceLoadingExtensions", true, loader);
    Method current = registry.getDeclaredMethod("getExtensions");
    Method listed = registry.getDeclaredMethod("extensions", ClassLoader.class);
    Constructor<?> constructor = loading.getDeclaredConstructor(boolean.class);
    Field implementation = registry.getDeclaredField("implementation");
    Field cachedFor = loading.getDeclaredField("classLoader");
    Field cached = loading.getDeclaredField("extensions");
    current.setAccessible(true);
    listed.setAccessible(true);
    constructor.setAccessible(true);
    implementation.setAccessible(true);
    cachedFor.setAccessible(true);
    cached.setAccessible(true);

    List<Object> extensions = new ArrayList<>((Collection<?>) listed.invoke(current.invoke(null), loader));
    extensions.add(gate);
    Object replacement = constructor.newInstance(true);
    cachedFor.set(replacement, new WeakReference<>(loader));
    cached.set(replacement, extensions);
    implementation.set(null, replacement);
  }

  @Override
  public void postInitializeServerListenerChannel(ServerChannel channel) {
    if (!isOnCluster) {
      channel.pipeline().addFirst(new OwnAddressBinding());
    }
  }

  @Override
  public void postInitializeServerChildChannel(Channel channel) {
    if (isOfSpark(channel)) {
      channel.pipeline().addFirst(new ServerProof(this));
    }
  }

  @Override
  public void postInitializeClientChannel(Channel channel) {
    if (isOfSpark(channel)) {
      channel.pipeline().addFirst(new ClientProof(this));
    }
  }

  /** Tells whether Spark made a channel; before its handlers are there, only what will add them is known. */
  private static boolean isOfSpark(Channel channel) {
    for (Map.Entry<String, ChannelHandler> entry : channel.pipeline()) {
      if (entry.getValue().getClass().getName().startsWith(SPARK)) {
        return true;
      }
    }
    return false;
  }

  /** Tells whether a connection of Spark, whose handlers are there by now, has to be proved. */
  boolean guards(Channel channel) {
    if (isOnCluster) {
      return isOfShuffle(channel);
    }
    SparkEnv environment = SparkEnv.get();
    // Servers that were started before the gate was there ask for no proof, so their clients must not wait for it.
    return isInOneJvm(environment) && (environment != before.get() || isOfShuffle(channel));
  }

  /** Tells whether executors and driver are one: nobody from outside has to talk to the servers of such a Spark. */
  private static boolean isInOneJvm(SparkEnv environment) {
    return environment != null && environment.conf().get("spark.master", "").matches("local(\\[.*\\])?");
  }

  private static boolean isOfShuffle(Channel channel) {
    for (Map.Entry<String, ChannelHandler> entry : channel.pipeline()) {
      if (entry.getValue().getClass().getName().equals(SPARK + "server.TransportChannelHandler")) {
        Object requests = field(entry.getValue(), "requestHandler");
        return field(requests, "rpcHandler").getClass().getName().startsWith(SHUFFLE);
      }
    }
    return false;
  }

  static Object field(Object owner, String name) {
    try {
      Field field = owner.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(owner);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("Spark's " + owner.getClass() + " has no " + name, error);
    }
  }

  /** Binds a server of Spark that was to listen on all addresses to Spark's own one. */
  private static final class OwnAddressBinding extends ChannelOutboundHandlerAdapter {
    @Override
    public void bind(ChannelHandlerContext context, SocketAddress address, ChannelPromise promise) {
      SocketAddress place = address;
      if (address instanceof InetSocketAddress
          && isInOneJvm(SparkEnv.get())
          && startsServerOfSpark(context.channel())) {
        InetSocketAddress wanted = (InetSocketAddress) address;
        if (wanted.getAddress() != null && wanted.getAddress().isAnyLocalAddress()) {
          place = new InetSocketAddress(ownAddress(), wanted.getPort());
        }
      }
      context.bind(place, promise);
    }

    /** Returns the address under which Spark is reached: clients are told that one, whatever was bound. */
    private static InetAddress ownAddress() {
      SparkEnv environment = SparkEnv.get();
      if (environment.rpcEnv().address() == null) {
        return InetAddress.getLoopbackAddress();
      }
      String host = environment.rpcEnv().address().host();
      try {
        return InetAddress.getByName(environment.conf().get("spark.driver.bindAddress", host));
      } catch (UnknownHostException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** The handler that accepts connections knows what will be added to each of them. */
    private static boolean startsServerOfSpark(Channel channel) {
      for (Map.Entry<String, ChannelHandler> entry : channel.pipeline()) {
        if (entry.getValue().getClass().getName().endsWith("$ServerBootstrapAcceptor")) {
          return field(entry.getValue(), "childHandler").getClass().getName().startsWith(SPARK);
        }
      }
      return false;
    }
  }
}
