package penstock;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The server's side of a new connection: Spark hears nothing of it before the client has proved itself. */
final class ServerProof extends ChannelInboundHandlerAdapter {
  /** One more, and the one that has taken longest has to go: Spark's own clients need milliseconds. */
  private static final int MOST_WAITING = 256;

  private static final int SECONDS = 10;
  private static final Map<ServerProof, ChannelHandlerContext> WAITING = new LinkedHashMap<>();

  private final Gate gate;
  private final byte[] own = Proof.randomBytes();
  private final byte[] answer = new byte[2 * Proof.SIZE];
  private int received;
  private boolean isWaiting;

  ServerProof(Gate gate) {
    this.gate = gate;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    if (!gate.guards(context.channel())) {
      context.fireChannelActive();
      context.pipeline().remove(this);
      return;
    }
    isWaiting = true;
    synchronized (WAITING) {
      WAITING.put(this, context);
      if (WAITING.size() > MOST_WAITING) {
        WAITING.remove(WAITING.keySet().iterator().next()).close();
      }
    }
    context.executor().schedule(
        () -> {
          if (isWaiting) {
            context.close();
          }
        },
        SECONDS,
        TimeUnit.SECONDS);
    context.writeAndFlush(Unpooled.wrappedBuffer(own));
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf bytes = (ByteBuf) message;
    try {
      if (!isWaiting) {
        return; // closed: what still comes belongs to nobody
      }
      int size = Math.min(answer.length - received, bytes.readableBytes());
      bytes.readBytes(answer, received, size);
      received += size;
      if (received == answer.length) {
        judge(context, bytes);
      }
    } finally {
      ReferenceCountUtil.release(bytes);
    }
  }

  private void judge(ChannelHandlerContext context, ByteBuf rest) {
    byte[] ofClient = Arrays.copyOf(answer, Proof.SIZE);
    byte[] given = Arrays.copyOfRange(answer, Proof.SIZE, answer.length);
    leave();
    if (!gate.proof.isRight(given, "client", own, ofClient)) {
      context.close();
      return;
    }
    context.writeAndFlush(Unpooled.wrappedBuffer(gate.proof.of("server", own, ofClient)));
    context.fireChannelActive();
    if (rest.isReadable()) {
      context.fireChannelRead(rest.readRetainedSlice(rest.readableBytes()));
    }
    context.pipeline().remove(this);
  }

  /** Spark was not told of this connection, so it is not told of its end either. */
  @Override
  public void channelInactive(ChannelHandlerContext context) {
    leave();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable error) {
    context.close();
  }

  private void leave() {
    isWaiting = false;
    synchronized (WAITING) {
      WAITING.remove(this);
    }
  }
}
