import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { abortable, sleep } from './abort.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('sleep', () => {
  test('sleep resolves after its time and leaves no listener behind', async () => {
    const { signal } = new AbortController()
    await sleep(1, signal)
    expect(listeners(signal)).toBe(0)
  })

  test('sleep rejects with the reason as soon as it is aborted', async () => {
    const controller = new AbortController()
    const reason = new Error('called off')
    const sleeping = sleep(1_000_000, controller.signal)
    controller.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })

  test('sleep throws when the signal is aborted already', () => {
    expect(() => sleep(1, AbortSignal.abort(new Error('before')))).toThrow('before')
  })
})

describe('abortable', () => {
  test('abortable passes results and failures on and leaves no listener behind', async () => {
    const { signal } = new AbortController()
    expect(await abortable(Promise.resolve(1), signal)).toBe(1)
    await expect(abortable(Promise.reject(new Error('own failure')), signal)).rejects.toThrow('own failure')
    expect(listeners(signal)).toBe(0)
  })

  test('abortable rejects as soon as it is aborted, and a later failure of the work is not unhandled', async () => {
    const controller = new AbortController()
    const { promise, reject } = Promise.withResolvers<never>()
    const waiting = abortable(promise, controller.signal)
    controller.abort(new Error('called off'))
    await expect(waiting).rejects.toThrow('called off')
    reject(new Error('too late'))
    await expect(abortable(promise, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  })
})
