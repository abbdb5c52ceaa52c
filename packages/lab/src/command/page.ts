/** The page of `holdfast lab --html`. */
import { pageOf, type LabReport } from '../index.js'
import { accessSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { LabConfigError } from './errors.js'

/** Looks before the lab begins, which takes minutes, whether its page will find a place. */
export function assertPage(file: string): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.isDirectory() === true) throw new LabConfigError('pageIsFolder', { file })
    accessSync(found === undefined ? dirname(file) : file, constants.W_OK)
  } catch (cause) {
    throw cause instanceof LabConfigError ? cause : unwritable(file, cause as Error)
  }
}

export function writePage(file: string, report: LabReport): void {
  try {
    writeFileSync(file, pageOf(report))
  } catch (cause) {
    throw unwritable(file, cause as Error)
  }
}

function unwritable(file: string, cause: Error): LabConfigError {
  return new LabConfigError('unwritable', { file, why: cause.message }, { cause })
}
