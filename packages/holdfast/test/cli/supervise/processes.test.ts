import { describe, expect, it } from 'vitest'
import { lookUp, parseProcStat, parsePsLine } from '../../../dist/cli/supervise/processes.js'

describe('processes', () => {
  it('reads a name with blanks, brackets and line ends in /proc/PID/stat', () => {
    const fields = ['S', 10, 20, 20, 0, -1, 4194304, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 1, 0, 987654, 1]
    const stat = `4242 (a) R 1 (b\nc) ${fields.join(' ')}`
    expect(parseProcStat(stat)).toEqual({
      pid: 4242,
      ppid: 10,
      pgid: 20,
      session: 20,
      startTime: '987654',
      zombie: false,
    })
  })

  it('reads a line of ps', () => {
    expect(parsePsLine('  501     1   501 Ss   Mon Jan  5 10:11:12 2026    ')).toEqual({
      pid: 501,
      ppid: 1,
      pgid: 501,
      session: 0,
      startTime: 'Mon Jan  5 10:11:12 2026',
      zombie: false,
    })
    expect(parsePsLine('502 1 501 Z+ Mon Jan  5 10:11:12 2026')?.zombie).toBe(true)
    expect(parsePsLine('')).toBeUndefined()
  })

  it('finds this process', () => {
    expect(lookUp(process.pid)).toMatchObject({
      pid: process.pid,
      ppid: process.ppid,
      zombie: false,
    })
  })
})
