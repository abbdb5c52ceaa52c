#!/usr/bin/env node
// The bundle starts sooner (see scripts/bundle.mjs); a tree that was only compiled runs from its parts.
import { existsSync } from 'node:fs'

const bundle = new URL('../dist/holdfast.js', import.meta.url)
await import(existsSync(bundle) ? bundle.href : '../dist/main.js')
