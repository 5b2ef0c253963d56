import { asEventId, EMPTY_STATE, type Event } from '@parley/protocol'
import { expect, test } from 'vitest'
import { numbered, owned } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { messageEvent } from '../../agent/view/events.testing.ts'
import { isUnreadable, openSqlite } from '../../storage/index.ts'
import { BranchView } from './view.ts'

const LIMITS = { keepTokens: Infinity, leastTokens: Infinity }
const CHECKPOINT = { seq: 1, items: [1], requested: false, pruned: [] }

test('a view whose branch is not stored to its end is refused, with and without a checkpoint', async () => {
  await using dir = await tempDir()
  await using store = await openSqlite({ path: dir.file('parley.db') })
  const { id } = await owned(store, { events: numbered([messageEvent('said', 'hello')] as Event[]) })
  const load = (leaf: string, seq: number, checkpoint: typeof CHECKPOINT | null) =>
    BranchView.load(
      { store: store.events, id, limits: LIMITS },
      { ...EMPTY_STATE, seq, leaf_event_id: asEventId(leaf) },
      checkpoint,
    )
  for (const checkpoint of [null, CHECKPOINT]) {
    expect((await load('said', 1, checkpoint)).events()).toMatchObject([{ id: 'said' }])
    await expect(load('removed', 2, checkpoint)).rejects.toSatisfy(isUnreadable)
  }
})
