import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import type { Mark, Note } from './note.ts'
import { Notes } from './notes.ts'

const never = new AbortController().signal
const ID = asConversationId('c1')
const note = (call: string): Note => ({
  call,
  job: `job-of-${call}`,
  from: 0,
  kind: 'start',
  token: 't',
  at: '2026-11-21T10:00:00.000Z',
})

test('notes and marks of remote calls are read by the next process', async () => {
  await using dir = await tempDir()
  const newest: Mark = { job: 'job-of-a', upTo: 9, told: true }
  {
    await using store = await openTestNotes(dir.file('store.db'))
    const first = new Notes(await store.of(ID), dir.file('none'))
    expect(await first.of('a')).toBeNull()
    await first.add(note('a'), never)
    first.mark({ job: 'job-of-a', upTo: 5, told: false })
    first.mark(newest)
    await until(async () => (await first.markOf('job-of-a'))?.told === true)
  }
  await using store = await openTestNotes(dir.file('store.db'))
  const second = new Notes(await store.of(ID), dir.file('none'))
  expect(await second.of('a')).toEqual(note('a'))
  expect(await second.markOf('job-of-a')).toEqual(newest)
  expect(await second.markOf('job-of-b')).toBeNull()
  expect(await second.of('b')).toBeNull()
  expect(await second.areComplete()).toBe(true)
  await second.remove()
  expect([await second.of('a'), await second.markOf('job-of-a')]).toEqual([null, null])
})

test('remote calls in the file of version 0.1.0 are known, also before an incomplete line', async () => {
  await using dir = await tempDir()
  await using store = await openTestNotes()
  const path = dir.file('deep', 'calls.ndjson')
  await mkdir(dirname(path))
  const mark: Mark = { job: 'job-of-a', upTo: 9, told: true }
  await writeFile(path, `\n${JSON.stringify(note('a'))}\n\n${JSON.stringify(mark)}\n`)
  const notes = new Notes(await store.of(ID), path)
  expect(await notes.of('a')).toEqual(note('a'))
  expect(await notes.markOf('job-of-a')).toEqual(mark)
  expect(await notes.areComplete()).toBe(true)
  await notes.add(note('b'), never)
  expect(await notes.of('b')).toEqual(note('b'))
  await writeFile(path, `\n${JSON.stringify(note('a'))}\n\n{"call":"c","jo`)
  const torn = new Notes(await store.of(ID), path)
  expect([await torn.of('a'), await torn.of('c'), await torn.areComplete()]).toEqual([note('a'), null, false])
  await torn.remove()
  expect([await torn.of('a'), await torn.of('b'), await torn.areComplete()]).toEqual([null, null, true])
})
