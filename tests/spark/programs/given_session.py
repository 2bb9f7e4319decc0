"""Runs jobs in a session that the program made itself: given, active, and active in another thread."""

import threading

from pyspark.sql import SparkSession

from penstock import StreamExecutionEnvironment
from penstock.errors import NotEnoughSlotsError


def collect(env):
    with env.from_collection([3, 1, 2]).rebalance().map(lambda n: n + 1).execute_and_collect() as records:
        return sorted(records)


def settings(spark):
    everything = dict(spark.sparkContext.getConf().getAll())
    everything.pop("spark.sql.warehouse.dir", None)  # Spark itself sets it with the first query
    return everything, spark.sparkContext.pythonExec


def main():
    spark = SparkSession.builder.master("local[5]").config("spark.ui.enabled", "false").getOrCreate()
    before = settings(spark)
    given = StreamExecutionEnvironment.get_execution_environment(spark_session=spark).set_parallelism(2)
    print(collect(given))
    active = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    print(collect(active))
    thread = threading.Thread(target=lambda: print(collect(active)))
    thread.start()
    thread.join()
    try:
        collect(active.set_parallelism(4))
    except NotEnoughSlotsError as error:
        print(error)
    active.close()
    print("settings put back:", settings(spark) == before)
    print(spark.range(3).count())  # the session is still there: it is not ours to stop


if __name__ == "__main__":
    main()
