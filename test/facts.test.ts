import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordFacts } from './facts.ts'

test('recording facts replaces one section, keeps the others and leaves no temporary file', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'parley-facts-')), 'artifacts')
  recordFacts('tests', { passed: 1 }, folder)
  recordFacts('bench', { ms: 2 }, folder)
  recordFacts('tests', { passed: 3 }, folder)
  expect(JSON.parse(readFileSync(join(folder, 'facts.json'), 'utf8'))).toEqual({
    tests: { passed: 3 },
    bench: { ms: 2 },
  })
  expect(readdirSync(folder)).toEqual(['facts.json'])
  rmSync(folder, { recursive: true })
})

test('recording facts replaces a file that is not JSON', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-facts-'))
  writeFileSync(join(folder, 'facts.json'), '{"half')
  recordFacts('tests', { passed: 1 }, folder)
  expect(JSON.parse(readFileSync(join(folder, 'facts.json'), 'utf8'))).toEqual({ tests: { passed: 1 } })
  rmSync(folder, { recursive: true })
})
