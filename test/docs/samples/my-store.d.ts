/** The store of a reader who writes one. */
export declare function myStore(url?: string): import('holdfast/store').Store
