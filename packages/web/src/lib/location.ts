/** State that is kept in the address of the page. */
import { useLocation, useSearch } from 'wouter'

/** The value of a query member, and the function that changes it in place, without a new entry in the history. */
export function useSearchParam(name: string): [value: string | null, change: (value: string | null) => void] {
  const [path, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  const change = (value: string | null): void => {
    if (value === null) search.delete(name)
    else search.set(name, value)
    navigate(search.size === 0 ? path : `${path}?${search.toString()}`, { replace: true })
  }
  return [search.get(name), change]
}
