"""Kafka: a source and a sink on ``confluent-kafka``.

======================  ==============================================================================================
``client``              the client library, loaded when it is first needed; settings of clients
``topic_partition``     one partition of a topic
``offsets``             where reading starts and stops
``cluster``             questions to the brokers: which partitions there are, which offsets they have
``deserialization``     from the messages of Kafka to records of a stream
``subscription``        which partitions a source reads
``source``              the source and its splits; ``source_builder`` makes it
``fetcher``             one consumer for all partitions that a subtask reads; ``reader`` reads one of them
``serialization``       from records of a stream to messages of Kafka; ``message_run`` holds and sends a run of them
``sink``                the sink; ``sink_builder`` makes it
``plain_writer``        writes without transactions
``transactional_writer``  writes in transactions, which ``committer`` commits
``transaction``         one transaction, and how it can be told later whether it was committed
``transactional_ids``   which transactional ids were ever used, so that nothing of a dead process stays open
``flink_kafka``         the names of Flink's older connector
======================  ==============================================================================================
"""
