/** Dates and durations for people, in the language of the page. */
const LANGUAGE = 'en'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const dayName = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long' })
const date = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short' })
const dateOfYear = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short', year: 'numeric' })
const moment = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'medium' })
const calendarDay = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' })

const startOfDay = (time: number): number => new Date(time).setHours(0, 0, 0, 0)

/** Milliseconds since 1970 of a time of the server, which is UTC also without an offset. */
export const utcTime = (text: string): number => Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`)

/** `now`, `12 min`, `3 h`, `4 d` or a date: how long ago `time` was. Milliseconds since 1970. */
export function age(time: number, now: number): string {
  const passed = now - time
  if (passed < MINUTE) return 'now'
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`
  if (passed < 7 * DAY) return `${Math.floor(passed / DAY)} d`
  return dateIn(time, now)
}

/** Date and time in full. */
export const fullMoment = (time: number): string => moment.format(time)

/** `Today`, `Yesterday`, the day of the week, or a date. */
export function dayOf(time: number, now: number): string {
  const days = Math.round((startOfDay(now) - startOfDay(time)) / DAY)
  if (days <= 1) return capital(calendarDay.format(-Math.max(days, 0), 'day'))
  return days < 7 ? dayName.format(time) : dateIn(time, now)
}

const dateIn = (time: number, now: number): string =>
  (new Date(time).getFullYear() === new Date(now).getFullYear() ? date : dateOfYear).format(time)

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Groups items by day, in their order. */
export function byDay<T>(items: readonly T[], timeOf: (item: T) => number, now: number): { day: string; items: T[] }[] {
  const groups: { day: string; items: T[] }[] = []
  for (const item of items) {
    const day = dayOf(timeOf(item), now)
    const last = groups.at(-1)
    if (last?.day === day) last.items.push(item)
    else groups.push({ day, items: [item] })
  }
  return groups
}
