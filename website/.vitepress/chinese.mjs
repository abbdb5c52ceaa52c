/** The navigation of the Chinese pages, and the words of the site around them. */
export const CHINESE = {
  nav: [
    { text: '开始', link: '/zh/first-lock' },
    { text: '操作指南', link: '/zh/how-to' },
    { text: '怎么选', link: '/zh/choosing' },
    { text: '常见问题', link: '/zh/faq' },
  ],
  sidebar: {
    '/zh/': [
      {
        text: '开始',
        items: [
          { text: '中文首页', link: '/zh/' },
          { text: '第一把锁', link: '/zh/first-lock' },
          { text: '两个进程和一次崩溃', link: '/zh/crash' },
          { text: '解决超卖', link: '/zh/oversell' },
          { text: '三台机器上的夜间任务', link: '/zh/nightly-job' },
        ],
      },
      {
        text: '怎么做',
        items: [
          { text: '操作指南', link: '/zh/how-to' },
          { text: '定时任务只执行一次', link: '/zh/cron' },
          { text: '幂等的支付回调', link: '/zh/payment-callback' },
          { text: '同一用户的请求逐个处理', link: '/zh/lock-a-request' },
          { text: 'NestJS', link: '/zh/nestjs' },
          { text: '锁与事务', link: '/zh/transactions' },
          { text: '测试用到锁的代码', link: '/zh/testing' },
          { text: '优雅停机', link: '/zh/processes' },
          { text: '锁内做 CPU 密集计算', link: '/zh/cpu-bound-work' },
          { text: '拒绝迟到的写入', link: '/zh/fence' },
          { text: '释放卡住的锁', link: '/zh/free-a-stuck-lock' },
          { text: '控制台', link: '/zh/console' },
          { text: '时间参数怎么设', link: '/zh/choose-times' },
        ],
      },
      {
        text: '为什么',
        items: [
          { text: '什么时候不该用锁', link: '/zh/when-not-to-lock' },
          { text: '锁与租约', link: '/zh/leases' },
          { text: '从 SETNX 到 fencing', link: '/zh/redis-ladder' },
          { text: 'Fencing token', link: '/zh/fencing' },
          { text: 'Redlock 与那场争论', link: '/zh/redlock' },
          { text: '队列与同进程接力', link: '/zh/queues' },
          { text: '怎么选', link: '/zh/choosing' },
          { text: '存储一览', link: '/zh/stores' },
          { text: '故障表现', link: '/zh/failure-modes' },
          { text: '常见问题', link: '/zh/faq' },
        ],
      },
    ],
  },
  outline: { level: [2, 3], label: '本页目录' },
  docFooter: { prev: '上一页', next: '下一页' },
  darkModeSwitchLabel: '外观',
  lightModeSwitchTitle: '切换到浅色',
  darkModeSwitchTitle: '切换到深色',
  sidebarMenuLabel: '目录',
  returnToTopLabel: '回到顶部',
  langMenuLabel: '切换语言',
  skipToContentLabel: '跳到正文',
  notFound: {
    title: '没有这个页面',
    quote: '地址可能写错了，或者页面已经移走。',
    linkLabel: '回到首页',
    linkText: '回到首页',
  },
}

/** The texts of the search, which stand apart from those of the rest. */
export const CHINESE_SEARCH = {
  button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
  modal: {
    displayDetails: '显示详情',
    resetButtonTitle: '清空',
    backButtonTitle: '关闭',
    noResultsText: '没有找到',
    footer: {
      selectText: '打开',
      selectKeyAriaLabel: '回车',
      navigateText: '移动',
      navigateUpKeyAriaLabel: '上',
      navigateDownKeyAriaLabel: '下',
      closeText: '关闭',
      closeKeyAriaLabel: 'Esc',
    },
  },
}
