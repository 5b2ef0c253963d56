/** `artifacts/facts.json`: measured figures, written by the program that measured them. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Facts = Record<string, Record<string, string | number | boolean | null>>

const ours = fileURLToPath(new URL('../artifacts/', import.meta.url))

/**
 * Replaces one section of the facts atomically and keeps the others.
 * Concurrent writers of different sections can lose one; measurements therefore run one at a time.
 */
export function recordFacts(section: string, figures: Facts[string], folder = ours): void {
  mkdirSync(folder, { recursive: true })
  const file = `${folder}/facts.json`
  const facts = { ...readFacts(file), [section]: figures }
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(facts, null, 2)}\n`)
  renameSync(draft, file)
}

function readFacts(file: string): Facts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Facts
  } catch (error) {
    // Missing or damaged: everything in the file can be measured again.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
