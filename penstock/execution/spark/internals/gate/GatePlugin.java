package penstock;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Guards the shuffle between the executors of a cluster by the secret that {@code spark.authenticate} gives them. */
public final class GatePlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return null; // tasks do not run there
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> configuration) {
        SecurityManager security = SparkEnv.get().securityManager();
        if (!security.isAuthenticationEnabled()) {
          throw new IllegalStateException("penstock.GatePlugin needs spark.authenticate=true");
        }
        try {
          Gate.installOnCluster(security.getSecretKey().getBytes(StandardCharsets.UTF_8));
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException("the shuffle cannot be guarded", error);
        }
      }
    };
  }
}
