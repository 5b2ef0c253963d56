import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FOLDERS, LEFT_OUT, postgresFiles, SHORT } from './files.ts'

const exists = (file: string): boolean => existsSync(join(import.meta.dirname, '..', file))

test('the list of tests on PostgreSQL names folders and files that exist, and a reason for each file that is left out', () => {
  expect([...Object.keys(LEFT_OUT), ...SHORT].filter((file) => !exists(file))).toEqual([])
  expect(
    Object.entries(LEFT_OUT).filter(([file, why]) => why === '' || !FOLDERS.includes(file.split('/')[0]!)),
  ).toEqual([])
  const files = postgresFiles()
  expect(files.length).toBeGreaterThan(100)
  expect(SHORT.filter((file) => !files.includes(`test/${file}`))).toEqual([])
})
