import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { abortable, inactivity, sleep } from './abort.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('sleep', () => {
  test('resolves after its time and leaves no listener behind', async () => {
    const { signal } = new AbortController()
    await sleep(1, signal)
    expect(listeners(signal)).toBe(0)
  })

  test('rejects with the reason the moment it is aborted', async () => {
    const controller = new AbortController()
    const reason = new Error('called off')
    const sleeping = sleep(1_000_000, controller.signal)
    controller.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })

  test('does not start when aborted before', () => {
    expect(() => sleep(1, AbortSignal.abort(new Error('before')))).toThrow('before')
  })
})

describe('abortable', () => {
  test('passes results and failures on and leaves no listener behind', async () => {
    const { signal } = new AbortController()
    expect(await abortable(Promise.resolve(1), signal)).toBe(1)
    await expect(abortable(Promise.reject(new Error('own failure')), signal)).rejects.toThrow('own failure')
    expect(listeners(signal)).toBe(0)
  })

  test('rejects at once when aborted, and a later failure of the work is not unhandled', async () => {
    const controller = new AbortController()
    const { promise, reject } = Promise.withResolvers<never>()
    const waiting = abortable(promise, controller.signal)
    controller.abort(new Error('called off'))
    await expect(waiting).rejects.toThrow('called off')
    reject(new Error('too late'))
    await expect(abortable(promise, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  })
})

describe('inactivity', () => {
  test('aborts with the reason once it stays silent', async () => {
    using silence = inactivity(1, new Error('silent'))
    const { promise, resolve } = Promise.withResolvers<void>()
    silence.signal.addEventListener('abort', () => resolve())
    await promise
    expect(silence.signal.reason).toMatchObject({ message: 'silent' })
    silence.touch()
    expect(silence.signal.aborted).toBe(true)
  })

  test('starts again with every sign of life', async () => {
    const { signal } = new AbortController()
    using silence = inactivity(500, new Error('silent'))
    using reference = inactivity(500, new Error('reference'))
    const reached = new Promise((resolve) => reference.signal.addEventListener('abort', resolve))
    await sleep(50, signal)
    silence.touch()
    await reached
    expect(silence.signal.aborted).toBe(false)
  })
})
