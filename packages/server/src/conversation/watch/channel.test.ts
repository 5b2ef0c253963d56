import { newEventId, type Event, type StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { Channel } from './channel.ts'

const stored = (seq: number): StoredEvent => ({
  seq,
  event: { kind: 'PauseEvent', id: newEventId(), timestamp: 't', source: 'user', parent_id: null } as Event,
})
const listener = { committed: () => undefined, live: () => undefined, ended: () => undefined }
const seqsAfter = (channel: Channel, seq: number) => channel.since(seq)?.map((each) => each.seq) ?? null

test('a channel holds events only while it is watched', () => {
  const channel = new Channel(0)
  channel.commit([stored(1)])
  expect(seqsAfter(channel, 0)).toBeNull()

  const [first, second] = [channel.subscribe(listener), channel.subscribe({ ...listener })]
  channel.commit([stored(2), stored(3)])
  expect(seqsAfter(channel, 1)).toEqual([2, 3])
  first()
  expect(seqsAfter(channel, 2)).toEqual([3])
  second()
  expect(seqsAfter(channel, 2)).toBeNull()
  expect(seqsAfter(channel, 3)).toEqual([])

  channel.commit([stored(4)])
  const again = channel.subscribe(listener)
  expect(seqsAfter(channel, 3)).toBeNull()
  channel.commit([stored(5)])
  expect(seqsAfter(channel, 3)).toBeNull()
  expect(seqsAfter(channel, 4)).toEqual([5])
  again()
})
