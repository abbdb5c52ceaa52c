/** What the page says about trouble, in Chinese. */
import type { TroubleTexts } from './en-trouble.js'

export const zhTrouble: TroubleTexts = {
  problems: {
    heading: '问题',
    quiet: '一切正常',
    quietSoFar: '目前没有发现问题',
    quietNote: (warn) =>
      `没有死锁，没有续期延迟，没有等待超过 ${warn}的等待者，没有已被强制释放却仍被持有的锁。存储响应正常。`,
    empty: '这个存储里没有锁',
    emptyNote: '没有进程持有锁或等待锁。如果本应有锁，请把命名空间、前缀和存储地址与你的程序核对。',
    incomplete: '对所有名称的首次遍历仍在进行。',
    further: (count) => `另有 ${count} 个问题未列出。`,
    unsearched: '可能还有别的死锁',
    unsearchedNote: (count) =>
      `互相等待的持有者太多。查找死锁时只读取了 ${count} 把锁的等待关系；涉及其他锁的死锁没有列出，也没有标记。`,
  },
  deadlock: {
    title: (count) => (count === 1 ? '死锁：持有者在等待自己' : `死锁：${count} 个持有者互相等待`),
    resolved: '死锁，已解除',
    seen: (age) => `${age}前发现`,
    holds: '持有',
    for: (held) => `已 ${held}`,
    waitsFor: '等待',
    still: (count) =>
      count === 1
        ? '带标记的进程被暂停了、卡住了，或连不上存储。让它继续运行，其中一个等待会以 DEADLOCK 失败；或者停止它。如果停止的是别的进程，带标记的进程仍占着它的锁。'
        : '带标记的进程被暂停了、卡住了，或连不上存储。让它们继续运行，其中一个等待会以 DEADLOCK 失败；或者停止它们。如果停止的是别的进程，带标记的进程仍占着它们的锁。',
    allStill:
      '这些进程都被暂停了、卡住了，或连不上存储。让它们继续运行，其中一个等待会以 DEADLOCK 失败；或者停止其中任意一个。',
    young: '请等半分钟：停住的进程从队列中消失后会被标出。如果先停止了别的进程，它的锁仍被占着。',
    anyOne: '这些进程都没有失联，停止任意一个即可：它的工作会失败，其余的会继续。',
    someOne:
      '停止其中一个进程：它的工作会失败，其余的会继续。前缀之外的进程是否还在运行，你看不到。',
    killed: '被杀掉的进程在 TTL 结束前仍占着锁，除非强制释放它的锁。',
    resolvedAdvice: '其中一个等待以 DEADLOCK 失败，其余的已继续。请按同一顺序加锁。',
    picture: (count) => `${count} 个持有者组成的环，每个都在等待下一个`,
  },
  silent: {
    chip: '失联',
    row: (count) => `${count} 个失联`,
    rowTitle: (count) => `${count} 个进程在等待，但已不在队列中`,
    note: '失联的进程：它的租约显示它在等待这把锁，但它已不在队列中。它可能被暂停了、卡住了，或连不上存储。',
    renewed: (age) => `租约在 ${age}前获得或续期`,
  },
  late: {
    title: (count) => (count === 1 ? '一次续期延迟' : `${count} 次续期延迟`),
    advice: '这些持有者之前续期过。它们可能卡住了、连不上存储，或所在的机器暂停了。',
    left: (left) => `${left}后到期`,
    ended: '已到期',
  },
  old: {
    title: (count, warn) => `${count} 把锁的等待者已等待超过 ${warn}`,
    wait: (count, oldest) => `${count} 个等待，最长 ${oldest}`,
    advice: '每把锁旁边是挡在前面的持有者。请先检查那个进程。',
    free: '没有持有者：下一次唤醒迟到了',
  },
  stolen: {
    title: (count) => `${count} 把锁已被强制释放，但仍被持有`,
    advice: '已要求这些持有者释放。持有者释放或租约到期时，锁就会空闲。',
    left: (left) => `最迟 ${left}后空闲`,
  },
  noLeader: {
    title: (count) => `${count} 个选举没有领导者`,
    candidates: (count, since) => `${count} 个候选者，已 ${since}`,
  },
  slow: {
    title: '存储很慢',
    text: (latency, since) => `一次查看需要 ${latency}。已慢了 ${since}。`,
  },
  away: {
    title: '存储没有响应',
    text: (since) => `已 ${since}没有响应。下面是最后一次查看的结果。`,
    findings: 'doctor 的检查结果',
    recovers: '页面会自行恢复。',
  },
}
