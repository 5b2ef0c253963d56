import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { ConversationRecord } from '../record/record.ts'
import { placeOfFiles } from './place.ts'

const place = (record: object) =>
  placeOfFiles(
    { id: asConversationId('c'), epoch: 3, record: record as ConversationRecord },
    { workspacesDir: '/data/workspaces', folderOf: (id) => `/data/conversations/${id}` },
  )

const at = (working_dir: string, more: object = {}) => ({ workspace: { kind: 'LocalWorkspace', working_dir }, ...more })

test.each([
  ['a directory that the server created', at('/data/workspaces/c/clone'), '/data/workspaces'],
  ['a named directory, if it was requested', at('/home/ann/work', { checkpoints: true }), null],
])('%s has checkpoints', (_, record, inside) => {
  expect(place(record)).toMatchObject({ inside, epoch: 3, gitDir: '/data/conversations/c/checkpoints.git' })
})

test.each([
  ['a named directory', at('/home/ann/work')],
  ['a directory beside those of the server', at('/data/workspaces-of-ann')],
  ['a directory that the server created, if none were requested', at('/data/workspaces/c', { checkpoints: false })],
  ['the directory of a sub-agent', at('/data/workspaces/c', { sub_agent: { depth: 1 } })],
  [
    'a remote directory',
    { workspace: { kind: 'RemoteWorkspace', working_dir: '/data/workspaces/c' }, checkpoints: true },
  ],
])('%s has no checkpoints', (_, record) => {
  expect(place(record)).toBeNull()
})
