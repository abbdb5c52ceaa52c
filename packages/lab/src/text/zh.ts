import type { Texts } from './texts.js'

/** Chinese, with full-width punctuation as GB/T 15834 has it. */
export const zh: Texts = {
  punctuation: { colon: '：', comma: '、', semicolon: '；', open: '（', close: '）' },
  wider: '终端更宽或输出到管道时，还会显示：{columns}。',
  oversell: {
    title: '超卖的商店',
    intro:
      '{items} 本书，{buyers} 位顾客，{processes} 个进程，一个真实的数据库。每种卖法面对同样的抢购；有顾客看到最后一本时，实验室就触发这种卖法必须扛住的故障。',
    columns: {
      strategy: '卖法',
      shop: '数据库',
      sold: '售出',
      oversold: '超卖',
      lost: '丢失更新',
      unserved: '未得到答复（人数）',
      blocked: '殃及他人',
      time: '用时',
      rate: '订单/秒',
      p99: 'p99 等待',
      verdict: '结论',
    },
    kept: {
      oversold: '没有超卖',
      lost: '没有丢失更新',
      unserved: '人人得到答复',
      blocked: '不殃及他人',
    },
    promises: '守住了哪些承诺',
    promisesNote:
      '每条承诺单独评判。数字只说明故障让它破了几次，不代表严重程度：多卖一本，就有一位顾客拿不到书。',
    speed: '每秒订单数',
    speedNote: '错误答案的速度不算数：出错的卖法显示为灰色。',
    soundLegend: '守住了全部承诺',
    brokenLegend: '违背了承诺',
    figures: '数据',
    fine: '恰好卖完库存',
    oversoldVerdict: '超卖',
    stuckVerdict: '商店卡死',
    blockedVerdict: '买别的商品的顾客等了 {ms}',
    lostVerdict: '丢失更新',
    unservedVerdict: '有顾客没有得到答复',
    surprise: '不符合预期',
    lessons: '发生了什么',
    strategies: {
      'no-lock': { title: '不加锁', lesson: '每位顾客都数一遍订单，觉得还有一本，就各下一单。' },
      'read-modify-write': {
        title: '读、改、写',
        lesson: '两位顾客读到同一个数，都写回减一后的数：其中一笔销售被忘掉了。',
      },
      'check-then-decrement': {
        title: '内存里检查，原子递减',
        lesson: '递减是原子的，检查却不在其中：库存降到零以下。',
      },
      'local-lock': {
        title: '进程内的锁',
        lesson: '它只隔开同一进程里的顾客，别的进程看不到它。',
      },
      'released-before-commit': {
        title: '提交之前就释放锁',
        lesson: '下一个持有者在提交之前进来，读到的还是旧库存。',
      },
      'unique-row': {
        title: '唯一键的一行',
        lesson: '它确实互斥。可是持有者被杀，那一行还在，商店卡死，直到运维人员删掉它。',
      },
      'redis-v1-setnx': {
        title: 'Redis V1：SETNX',
        lesson: '持有者被杀。键没有过期时间，其他客户端再也进不来。',
      },
      'redis-v2-setnx-expire': {
        title: 'Redis V2：SETNX 之后 EXPIRE',
        lesson: '进程在两条命令之间被杀，键又没有过期时间。',
      },
      'redis-v3-plain-del': {
        title: 'Redis V3：SET NX EX，直接 DEL',
        lesson: '持有者停顿超过了 TTL，醒来继续卖，还删掉了下一个持有者的锁。',
      },
      'redis-v4-owner': {
        title: 'Redis V4：持有者标识，Lua 释放',
        lesson: '它只删自己的锁，但租约结束后仍在干活。',
      },
      'redis-v5-watchdog': {
        title: 'Redis V5：看门狗',
        lesson: '进程在跑，看门狗才续期。停住的进程什么也续不了，醒来也不检查。',
      },
      'redis-v6-reentrant': {
        title: 'Redis V6：可重入',
        lesson: '嵌套调用没问题；可是停顿过的持有者没有锁也照样卖。',
      },
      'select-for-update-no-index': {
        title: 'SELECT … FOR UPDATE，没有索引',
        lesson: '没有索引，MariaDB 会锁住读过的每一行，买别的商品的顾客也得等。',
      },
      'select-for-update': {
        title: 'SELECT … FOR UPDATE，按主键',
        lesson: '只锁一行，直到提交。只要被保护的东西都在这个数据库里，它就是对的。',
      },
      'optimistic-version': {
        title: '乐观锁（版本号）',
        lesson: '没有锁：后写的一方读到的是旧版本，什么也没改成，再试一次。',
      },
      'holdfast-embedded': {
        title: 'Holdfast，本地文件',
        lesson:
          '停顿超过 TTL，持有者醒来就发现租约已经结束，什么也不卖。写入由 fencing token 把关。',
      },
      'holdfast-redis': {
        title: 'Holdfast，Redis',
        lesson: '在 Redis 上也一样：租约结束，token 太小，销售被回滚。',
      },
      'holdfast-redlock': {
        title: 'Holdfast，Redlock',
        lesson: '多数主节点同意才算拿到锁。停顿过的持有者醒来发现租约已经结束。',
      },
      'holdfast-zookeeper': {
        title: 'Holdfast，ZooKeeper',
        lesson: '持有者停顿时会话结束；它一醒来就知道。',
      },
      'holdfast-etcd': {
        title: 'Holdfast，etcd',
        lesson: '持有者停顿时 etcd 的租约结束；它一醒来就知道。',
      },
      'holdfast-postgres': {
        title: 'Holdfast，PostgreSQL 事务',
        lesson: '`locks.transaction` 让锁覆盖到提交：事务没结束，其他客户端就拿不到锁。',
      },
      'holdfast-mysql': {
        title: 'Holdfast，MariaDB 事务',
        lesson: '`locks.transaction` 让锁覆盖到提交：事务没结束，其他客户端就拿不到锁。',
      },
      'holdfast-fifo': { title: 'Holdfast，一把锁，严格排队', lesson: '先来先买，一个接一个。' },
      striped: {
        title: '分段库存',
        lesson: '库存分成若干段，每段一把锁。卖空的一段从最满的一段搬来一半。',
      },
    },
  },
  ladder: {
    title: 'Redis 锁的阶梯',
    intro: '每一级都修好上一级的毛病。每个故障都是真的：真实的 Redis，真实的进程。',
    broke: '出错',
    held: '已修好：这个故障不再造成损害',
    cure: '解法',
    surprise: '不符合预期',
    rungs: {
      'v1-setnx': {
        title: 'V1：SETNX 加 DEL',
        fault: '持有者被杀。',
        broke: '键没有过期时间：过了很久，其他客户端仍进不来。',
        cured: '用第二条命令设过期时间：持有者死后，锁会自己结束',
      },
      'v2-setnx-expire': {
        title: 'V2：SETNX 之后 EXPIRE',
        fault: '进程在两条命令之间被杀。',
        broke: '键又没有过期时间：其他客户端进不来。',
        cured: '一条命令 SET NX EX：中间没有空隙',
      },
      'v3-plain-del': {
        title: 'V3：SET NX EX，直接 DEL',
        fault: '活干得比 TTL 久，然后持有者删掉那个键。',
        broke: 'A 删掉的是 B 的锁，于是 B 还在干活，C 就进来了。',
        cured:
          '值里放持有者标识，用脚本只删自己的锁：C 进不来。A 仍和 B 同时干活，那是下一级要解决的故障',
      },
      'v4-owner': {
        title: 'V4：持有者标识',
        fault: '活干得比 TTL 久。',
        broke: '活还在干，锁已经结束：同时有两个持有者。',
        cured: '看门狗：活在干，就续期',
      },
      'v5-watchdog': {
        title: 'V5：看门狗',
        fault: '持有者又调用了要同一把锁的代码。',
        broke: '它在等自己，而看门狗让锁永远不过期。',
        cured: '在持有者标识下记进入的次数',
      },
      'v6-reentrant': {
        title: 'V6：可重入',
        fault: '整个进程停顿超过 TTL，然后继续。',
        broke: '醒来时它还以为锁在自己手里：同时有两个持有者。',
        cured: 'Holdfast：`held` 对照时钟检查，停顿后的第一条指令就已经是 false',
      },
      'v6-failover': {
        title: 'V6 遇到故障转移',
        fault: '主节点在副本得知授予之前就死了，副本接替。',
        broke: '副本不知道这把锁，又授予了一次。客户端无从知道。',
        cured: 'fencing token：商店见过更大的 token，拒绝过期持有者的写入',
      },
    },
    marks: {
      kill: 'kill -9',
      'kill-between': '第一条命令得到应答后，kill -9',
      'done-and-release': '活干完了，释放锁',
      'takes-again': '再次获取同一把锁',
      stop: 'SIGSTOP',
      continue: 'SIGCONT',
      'primary-died': '它的主节点死了，副本接替',
    },
    end: '最上一级：有截止时间的租约，持有者及时得知的丢失，以及被保护的资源自己检查的 token。',
  },
  scenarios: {
    payment: {
      title: '支付回调被重试',
      story: '支付方同时回调了三次，三台服务器都想发货。',
      without: '每台都看一眼发过没有，看到没有，就发了。',
      withLock: '一台发货，另外两台看到已经发过。',
      damage: '多发包裹 {count} 件',
    },
    schedule: {
      title: '五个节点上的夜间任务',
      story: '五个时钟略有差别的节点跑同一个任务，连着三夜。',
      without: '每夜每个节点都跑一次。',
      withLock: '每夜一次：干完活锁再占一会儿，慢的时钟来时发现它被占着。',
      damage: '多跑或漏跑 {count} 次',
    },
    cache: {
      title: '一千个请求撞上过期的缓存',
      story: '热门条目过期，四个进程里的一千个请求发现缓存是空的。',
      without: '每个请求都让数据库重建一次。',
      withLock: '`singleFlight`：每个进程只有一个请求去问，只有一个进程去重建。',
      damage: '多余重建 {count} 次',
    },
    config: {
      title: '共享的配置文件',
      story: '四个程序往同一个文件里加自己的设置：读、改、写。',
      without: '各自写回读到的内容，别的程序刚写的就没了。',
      withLock: '每一条设置都在。',
      damage: '丢失设置 {count} 条',
    },
  },
  scenario: { without: '不加锁', withLock: '用 Holdfast' },
  choose: {
    title: '用哪种存储？',
    questions: {
      machines: '进程在哪里？（one：都在一台机器上，several：好几台）',
      have: '你已经在运行什么？（redis、postgres、mysql、zookeeper、etcd，用英文逗号分隔；或 nothing）',
      cost: '两个持有者并存的代价？（annoyance、money、disaster）',
      heat: '最热的锁有多热？（cold、warm、hot）',
    },
    recommendation: '建议',
    because: '因为',
    mind: '注意',
    reasons: {
      'one-machine': '所有进程都在一台机器上，不需要服务器，持有者一死马上就能发现',
      'have-it': '你已经在运行它：不用多维护一样东西',
      consensus: '两个持有者并存就是灾难，只有带共识的存储在故障转移后还记得授予过的锁',
      transaction: '`locks.transaction` 把锁保持到你自己在这个数据库里的事务提交为止',
      fast: '在你运行的存储里，它交接热锁最快',
      add: '你运行的都没有共识；这是最小的一种',
      small: '它是多台机器共用锁时最小的服务器',
    },
    cautions: {
      fence: '让被保护的资源检查 fencing token：租约拦不住不检查它的进程',
      'redis-loses': 'Redis 故障转移可能丢锁；fencing token 能补上',
      'stripe-it': '热锁限制所有使用它的调用者：请分段，或让持锁的工作尽量短',
    },
    measured: '此时此地测得',
    moreIsBetter: '越大越好',
    lessIsBetter: '越小越好',
    columns: {
      store: '存储',
      rate: '空闲锁/秒',
      handOff: '交接 p50',
      p99: '交接 p99',
      failOver: 'kill -9 之后',
      fence: 'token',
      fair: '排队',
      promise: '何时可能出现两个持有者',
    },
    promises: {
      embedded: '本地磁盘上不会',
      redis: '故障转移、FLUSHALL、服务器时钟跳变',
      redlock: '时钟跳变，或主节点不持久化就重启',
      zookeeper: '集群自身不会',
      etcd: '集群自身不会',
      postgres: '转移到落后的副本，或时钟跳变',
      mysql: '转移到落后的副本，或时钟跳变',
    },
    yes: '有',
    no: '无',
  },
  leftOut: {
    title: '已跳过',
    service: '已跳过 {what}；安装方法：{command}',
    strategy: '已跳过 {strategy}：需要 {what}。',
  },
  help: {
    usage: '用法：holdfast lab [主题] [选项]',
    heading: '选项：',
    about: `在真实的服务器上演示：锁会出什么问题，怎样解决。服务器由实验室自己启动，用完即停。

  tour        一家商店先超卖，后不再超卖；不写主题时演示这个
  oversell    所有卖法面对同样的抢购：100 件，500 位顾客，8 个进程，一个真实的数据库
  ladder      Redis 锁的阶梯：从 SETNX 到防护令牌，每一级都被故障打破，再由下一级修好
  payment     支付回调被重试；另有 schedule、cache、config
  choose      选哪个存储，各存储在这台机器上的表现
  strategies  所有卖法的名称`,
    options: {
      items: 'oversell：库存件数。默认 100。',
      buyers: 'oversell：顾客人数。默认 500。',
      processes: 'oversell：进程数。默认 8。',
      segments: 'oversell：分段库存的段数。默认 16。',
      think: 'oversell：一笔销售在店里花的时间。默认 10ms。',
      strategies: 'oversell：只演示这些卖法，名称见 `lab strategies`。',
      machines: 'choose：进程在一台机器上，还是几台。',
      have: 'choose：已经在用什么，用逗号分隔；没有就写 nothing。',
      cost: 'choose：两个持有者同时出现的代价。',
      heat: 'choose：最热的锁有多热。',
      'no-measure': 'choose：只推荐，不测量。',
      services: '只启动这些服务器；none 表示不启动。默认：装了的都启动。',
      html: '另写一个网页：图表和阶梯的时间线。',
      lang: '语言。默认由 locale 决定。',
      json: '输出 JSON，供程序读取。',
      help: '显示本文。',
    },
    notes: '没有安装的服务器会列出来并略过。按 Ctrl-C 会停掉启动的一切。',
  },
  interrupted: '已中断。实验室启动的一切都已停止。',
  report: {
    title: 'Holdfast 实验室',
    made: '由 `holdfast lab` 生成于 {date}',
    legend: '图例',
    holds: '持有锁',
    waits: '等待',
    stopped: '停顿',
    works: '没有锁还在干活',
    mark: '遭遇的事件',
  },
}
