/** The page of `holdfast lab --html`. */
import { pageOf, type LabReport } from '../index.js'
import { accessSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from './toolkit.js'

/** Looks before the lab begins, which takes minutes, whether its page will find a place. */
export function assertPage(file: string): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.isDirectory() === true) throw new Error('it is a folder')
    accessSync(found === undefined ? dirname(file) : file, constants.W_OK)
  } catch (cause) {
    throw unwritable(file, cause as Error)
  }
}

export function writePage(file: string, report: LabReport): void {
  try {
    writeFileSync(file, pageOf(report))
  } catch (cause) {
    throw unwritable(file, cause as Error)
  }
}

function unwritable(file: string, cause: Error): ConfigError {
  return new ConfigError(
    `The page cannot be written to ${file}: ${cause.message}. Choose another file for --html.`,
    { cause },
  )
}
