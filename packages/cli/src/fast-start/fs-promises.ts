/** The part of node:fs/promises that `holdfast run` uses, without the rest of that module. */
import { chmod as chmodFile, readdir as readFolder } from 'node:fs'

export function chmod(path: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    chmodFile(path, mode, (error) => (error === null ? resolve() : reject(error)))
  })
}

export function readdir(path: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    readFolder(path, (error, names) => (error === null ? resolve(names) : reject(error)))
  })
}
