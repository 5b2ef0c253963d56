/** What tokens cost that somebody else has used. */
import { loadPriceBook } from './usage.ts'
import type { Remote } from './route.ts'

/** US dollars of so many tokens; null when no price is known. `input` leaves out what was read from a cache or written to one. */
export async function priceOf(
  model: string,
  { input, output, cacheRead, cacheWrite }: { input: number; output: number; cacheRead: number; cacheWrite: number },
): Promise<number | null> {
  const book = await loadPriceBook()
  const counts = { input: input + cacheRead + cacheWrite, output, cacheRead, cacheWrite }
  return book({ priceProvider: null } as Remote, model, counts).costUsd
}
