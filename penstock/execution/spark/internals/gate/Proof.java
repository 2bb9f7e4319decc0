package penstock;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Keyed hashes over random bytes of both ends: nothing that is sent can be used again, or tells the secret. */
final class Proof {
  static final int SIZE = 32;

  private static final SecureRandom RANDOM = new SecureRandom();
  private final SecretKeySpec secret;

  Proof(byte[] secret) {
    this.secret = new SecretKeySpec(secret, "HmacSHA256");
  }

  static byte[] randomBytes() {
    byte[] bytes = new byte[SIZE];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  byte[] of(String side, byte[] ofServer, byte[] ofClient) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(secret);
      mac.update("penstock gate ".getBytes(StandardCharsets.US_ASCII));
      mac.update(side.getBytes(StandardCharsets.US_ASCII));
      mac.update(ofServer);
      mac.update(ofClient);
      return mac.doFinal();
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  boolean isRight(byte[] given, String side, byte[] ofServer, byte[] ofClient) {
    return MessageDigest.isEqual(given, of(side, ofServer, ofClient));
  }
}
