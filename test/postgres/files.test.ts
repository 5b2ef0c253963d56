import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  filesOnNodes,
  FOLDERS,
  FOLDERS_LEFT_OUT_ON_NODES,
  LEFT_OUT,
  LEFT_OUT_ON_NODES,
  postgresFiles,
  SHORT,
  SHORT_ON_NODES,
} from './files.ts'

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

test('the list of tests on three nodes is a part of that on PostgreSQL, with a reason for each folder and file that is left out', () => {
  const folders = Object.entries(FOLDERS_LEFT_OUT_ON_NODES)
  expect(folders.filter(([folder, why]) => why === '' || !FOLDERS.includes(folder))).toEqual([])
  const isOfOthers = (file: string) =>
    FOLDERS.includes(file.split('/')[0]!) && !folders.some(([folder]) => file.startsWith(`${folder}/`))
  expect(
    Object.entries(LEFT_OUT_ON_NODES).filter(([file, why]) => why === '' || !exists(file) || !isOfOthers(file)),
  ).toEqual([])
  const files = filesOnNodes()
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => !postgresFiles().includes(file))).toEqual([])
  expect(SHORT_ON_NODES.filter((file) => !files.includes(`test/${file}`))).toEqual([])
})
