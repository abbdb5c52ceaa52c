/** What stands above the text of the two home pages, which are `README.md` in the repository. */

const ENGLISH = {
  layout: 'home',
  hero: {
    name: 'Holdfast',
    text: 'Distributed locks for Node.js',
    tagline:
      'One API over Redis, PostgreSQL, MySQL, etcd, ZooKeeper or a local file. You learn of a lost lock in time.',
    image: {
      src: '/lease.svg',
      alt: 'Two processes take turns: a late write of the first one is refused',
    },
    actions: [
      { theme: 'brand', text: 'First lock in five minutes', link: '/start/first-lock' },
      { theme: 'alt', text: 'Which store?', link: '/explain/choosing' },
    ],
  },
}

const CHINESE = {
  layout: 'home',
  hero: {
    name: 'Holdfast',
    text: 'Node.js 的分布式锁',
    tagline:
      '一套 API，支持 Redis、PostgreSQL、MySQL、etcd、ZooKeeper 或本地文件。锁丢了，你会及时知道。',
    image: { src: '/lease.zh.svg', alt: '两个进程轮流持有锁，第一个的迟到写入被拒绝' },
    actions: [
      { theme: 'brand', text: '五分钟用上第一把锁', link: '/zh/first-lock' },
      { theme: 'alt', text: '怎么选', link: '/zh/choosing' },
    ],
  },
}

/** @param {string} page below `docs/` */
export function homeOf(page) {
  return { 'index.md': ENGLISH, 'zh/index.md': CHINESE }[page]
}
