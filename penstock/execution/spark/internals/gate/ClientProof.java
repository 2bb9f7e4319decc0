package penstock;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.PendingWriteQueue;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** The client's side of a new connection: what Spark sends is kept until both ends have proved themselves. */
final class ClientProof extends ChannelDuplexHandler {
  private static final int SECONDS = 30;

  private final Gate gate;
  private final byte[] own = Proof.randomBytes();
  private final byte[] heard = new byte[2 * Proof.SIZE];
  private int received;
  private boolean isProved;
  private PendingWriteQueue pending;

  ClientProof(Gate gate) {
    this.gate = gate;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    pending = new PendingWriteQueue(context);
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    context.fireChannelActive();
    if (!gate.guards(context.channel())) {
      letThrough(context);
      return;
    }
    context.executor().schedule(
        () -> {
          if (!isProved) {
            context.close();
          }
        },
        SECONDS,
        TimeUnit.SECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf bytes = (ByteBuf) message;
    try {
      int before = received;
      int size = Math.min(heard.length - received, bytes.readableBytes());
      bytes.readBytes(heard, received, size);
      received += size;
      if (before < Proof.SIZE && received >= Proof.SIZE) {
        byte[] proof = gate.proof.of("client", ofServer(), own);
        context.write(Unpooled.wrappedBuffer(own));
        context.writeAndFlush(Unpooled.wrappedBuffer(proof));
      }
      if (received == heard.length) {
        judge(context, bytes);
      }
    } finally {
      ReferenceCountUtil.release(bytes);
    }
  }

  private byte[] ofServer() {
    return Arrays.copyOf(heard, Proof.SIZE);
  }

  private void judge(ChannelHandlerContext context, ByteBuf rest) {
    byte[] given = Arrays.copyOfRange(heard, Proof.SIZE, heard.length);
    if (!gate.proof.isRight(given, "server", ofServer(), own)) {
      context.close();
      return;
    }
    ByteBuf more = rest.isReadable() ? rest.readRetainedSlice(rest.readableBytes()) : null;
    if (more != null) {
      context.fireChannelRead(more);
    }
    letThrough(context);
  }

  private void letThrough(ChannelHandlerContext context) {
    isProved = true;
    pending.removeAndWriteAll();
    context.flush();
    context.pipeline().remove(this);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (isProved) {
      context.write(message, promise);
    } else {
      pending.add(message, promise);
    }
  }

  @Override
  public void flush(ChannelHandlerContext context) {
    if (isProved) {
      context.flush();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    pending.removeAndFailAll(new java.nio.channels.ClosedChannelException());
    context.fireChannelInactive();
  }
}
