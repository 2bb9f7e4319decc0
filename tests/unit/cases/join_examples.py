"""What the examples of several streams print, from the worked cases."""

from __future__ import annotations

EXPECTED = {
    "async_enrichment": [
        "user_3 browse: 王五, 30",
        "user_2 click: 李四, 20",
        "user_9 click: no such user",
        "user_1 login: 张三, 10",
        "user_3 buy: 王五, 30",
    ],
    # W-74 to W-77: the event before the first list and the one of a user who is gone are dropped.
    "broadcast_rules": ["user_3 browse: 王五, 30", "user_2 click: 李四, 20", "user_3 browse: 王五, 31"],
    # W-66 and W-67: 3 x 4890 = 14670 in both; 8 s is two seconds before 10 s, 16 s two seconds after 14 s.
    "goods_orders": ["小米12 x 3 = 14670", "小米12 x 3 = 14670", "iphone12 x 1 = 12000"],
    # W-68
    "order_receipts": [
        "order 1 paid by alipay",
        "order 2 paid by wechat",
        "order of t3 alone",
        "receipt of t9 alone",
    ],
    # W-122: the last of three readings counts.
    "speed_comparison": [
        "v1 at 100: 62 and 58, difference +4",
        "v1 at 101: 65 and 66, difference -1",
        "v2 at 100: 82 and 85, difference -3",
    ],
}
