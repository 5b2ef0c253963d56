/**
 * Replaces old images of a view by a line of text: a request with all images of a long conversation is slow, costly and in the end refused.
 * The log keeps them. Pure.
 *
 * Invariants
 *   O1. The decision follows from the events of the branch alone, so a restart and a fork see the same view.
 *   O2. Images are replaced together, once in `KEPT_TURNS` turns, so that the beginning of the requests changes rarely.
 *   O3. The images of the newest turns stay, however many steps a turn has.
 */
import type { EventId, TreeEvent } from '@parley/protocol'
import { imagesOf, withImagesReplaced } from './left-out.ts'

/** Turns after which an image is old. */
const KEPT_TURNS = 10

export class OldImages {
  #turn = 0
  #shown: { id: EventId; turn: number }[] = []

  /** Takes the next event of the view. Returns the events whose images are replaced from now on; only a message of a person has some. */
  take(event: TreeEvent): EventId[] {
    const isTurn = event.kind === 'MessageEvent' && event.source === 'user'
    if (isTurn) this.#turn++
    const old = isTurn && this.#turn % KEPT_TURNS === 1 ? this.#leaveOut(this.#turn - KEPT_TURNS) : []
    if (imagesOf(event).length > 0) this.#shown.push({ id: event.id, turn: this.#turn })
    return old
  }

  #leaveOut(newest: number): EventId[] {
    const old = this.#shown.filter(({ turn }) => turn <= newest)
    this.#shown = this.#shown.filter(({ turn }) => turn > newest)
    return old.map(({ id }) => id)
  }
}

/** The event with a line in place of each image. */
export const withoutOldImages = (event: TreeEvent): TreeEvent =>
  withImagesReplaced(event, () => '[An image is left out, because it is old. Ask for it again if you need it.]')
