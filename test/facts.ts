/** `artifacts/facts.json`: every figure that the documentation may cite, written by the program that measured it. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Facts = Record<string, Record<string, string | number | boolean | null>>

const ours = fileURLToPath(new URL('../artifacts/', import.meta.url))

/**
 * Replaces one section of the facts and keeps the others. A reader sees the old file or the new one, never a part.
 * Two processes that write different sections in the same millisecond can lose one; figures are measured one at a time.
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
    // Nothing measured yet, or a file that someone edited into nonsense: it holds nothing that cannot be measured again.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
